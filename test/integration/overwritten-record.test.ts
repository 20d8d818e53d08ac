import { describe, expect, it } from 'vitest';
import { LeaderElector } from '../../src/election/leader-elector.js';
import { serializeRecord } from '../../src/election/record/election-record.js';
import type { Term } from '../../src/election/term/term.js';
import type { Session } from '../../src/session/session.js';
import { openProxied, openSession, uniquePath } from '../support/conclave/sessions.js';
import { eventAfter } from '../support/events.js';
import { until } from '../support/waiting.mjs';

const LEASE_MS = 1000;
const SESSION = { sessionTimeoutMs: 6000, leaseMs: LEASE_MS };

/** Any name that a candidate's node could have. */
const NODE = '_c_01234567-89ab-8def-8123-456789abcdef-lock-0000000000';
const HELD = serializeRecord({ state: 'held', term: 7, node: NODE, leaseMs: LEASE_MS });
const json = (value: unknown) => Buffer.from(JSON.stringify(value));

/** What no release of Conclave can read as a record of an election. */
const UNREADABLE: Readonly<Record<string, Buffer>> = {
  'no data': Buffer.alloc(0),
  'a word': Buffer.from('x'),
  'a line': Buffer.from('maintenance\n'),
  'an empty object': json({}),
  'a list': json([1, 2]),
  null: Buffer.from('null'),
  'a record that was cut off': HELD.subarray(0, HELD.length - 5),
  'a record with more behind it': Buffer.concat([HELD, Buffer.from('}')]),
  'a later format': json({ format: 2, state: 'held', term: 8, node: NODE, leaseMs: LEASE_MS }),
  'no format': json({ state: 'vacant', term: 8 }),
  'another state': json({ format: 1, state: 'paused', term: 8 }),
  'a term that is no number': json({ format: 1, state: 'vacant', term: '8' }),
  'a leader without a node': json({ format: 1, state: 'held', term: 8, leaseMs: LEASE_MS }),
  'a leader with an endless lease': json({ format: 1, state: 'held', term: 8, node: NODE, leaseMs: 1e12 }),
  'bytes that are no text': Buffer.from([0xff, 0xfe, 0, 1, 0x80]),
};

/** Three candidates of one election. Each of them has a session with others of its index. */
class Election {
  readonly path = uniquePath('overwritten');
  readonly electors: readonly LeaderElector[];
  readonly #terms: Term[] = [];

  constructor(sessions: readonly Session[]) {
    this.electors = sessions.map(
      (session, index) => new LeaderElector(session, this.path, { id: `e${index}` }),
    );
    for (const elector of this.electors) elector.on('elected', (term) => this.#terms.push(term));
  }

  /** @param isInTurn - whether the first in the queue leads. Otherwise the last one does */
  async begin(isInTurn: boolean): Promise<void> {
    for (const elector of this.electors) await elector.start();
    await until(() => this.acting.length === 1);
    if (isInTurn) return;
    const [first, , last] = this.electors as [LeaderElector, LeaderElector, LeaderElector];
    await eventAfter(last, 'elected', () => first.handOver('e2'));
  }

  /** The terms that are held at this moment. */
  get acting(): Term[] {
    return this.#terms.filter((term) => term.isHeld());
  }

  get newest(): Term {
    return this.#terms.at(-1) as Term;
  }
}

describe('a client that is no candidate writes what cannot be read into the record', () => {
  for (const isInTurn of [true, false])
    for (const isCut of [false, true])
      it(`which makes no two leaders: the leader ${isInTurn ? 'in' : 'out of'} turn, ${isCut ? 'and all connections are lost once' : 'while all are connected'}`, async () => {
        const opened = await Promise.all([openProxied(SESSION), openProxied(SESSION), openProxied(SESSION)]);
        const stranger = await openSession();
        const elections = Object.keys(UNREADABLE).map(
          () => new Election(opened.map(({ session }) => session)),
        );
        await Promise.all(elections.map((election) => election.begin(isInTurn)));
        const former = elections.map(({ newest }) => newest);

        await Promise.all(
          Object.values(UNREADABLE).map((data, at) =>
            stranger.setData((elections[at] as Election).path, data),
          ),
        );
        if (isCut) for (const { proxy } of opened) proxy.dropConnections();
        const writes = former.map((term, at) =>
          term
            .transaction()
            .create(`${(elections[at] as Election).path}-act`)
            .commit(),
        );
        for (const write of await Promise.allSettled(writes)) expect(write.status).toBe('rejected');

        const crowds: number[] = [];
        await until(() => {
          crowds.push(...elections.map(({ acting }) => acting.length));
          return elections.every(({ acting, newest }, at) => acting.length === 1 && newest !== former[at]);
        });
        expect(Math.max(...crowds)).toBe(1);
        // The lease may be over before the connection is there again.
        const reasons = isCut ? ['record-overwritten', 'lease-expired'] : ['record-overwritten'];
        for (const { signal } of former) expect(reasons).toContain(signal.reason.reason);
        for (const [at, { newest }] of elections.entries())
          expect(newest.number).toBeGreaterThan((former[at] as Term).number);
      });
});
