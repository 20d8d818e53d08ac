/** An operator takes from a session the right to read its own node. Nothing can prove any more that the node exists. */
import { describe, expect, it } from 'vitest';
import type { Term } from '../../src/election/term/term.js';
import { DistributedLock } from '../../src/lock/distributed-lock.js';
import type { AccessEntry } from '../../src/session/protocol/acl.js';
import type { Session } from '../../src/session/session.js';
import { lead } from '../support/conclave/electors.js';
import { enqueue } from '../support/conclave/enqueue.js';
import { openSession, uniquePath } from '../support/conclave/sessions.js';
import { aborted, errorsOf, nextEvent, recordEvents } from '../support/events.js';
import { until } from '../support/waiting.mjs';
import { openAdminClient } from '../support/wire/admin-client.js';

const ALL_BUT_READ: AccessEntry = { scheme: 'world', id: 'anyone', permissions: 2 | 4 | 8 | 16 };

const ALL_BUT_WRITE: AccessEntry = { scheme: 'world', id: 'anyone', permissions: 1 | 4 | 8 | 16 };

async function heartbeatNode(election: string, session: Session): Promise<string> {
  const name = (await session.getChildren(election)).find((each) => each.startsWith('_h_'));
  return `${election}/${name}`;
}

/** Opens a session, and records the errors that it reports and whether it ever lost its connection. */
async function openWatched() {
  const session = await openSession({ sessionTimeoutMs: 4000 });
  const errors = errorsOf(session);
  return { session, errors, events: recordEvents(session, 'suspended', 'resumed', 'expired') };
}

/** A leader with a session of its own, in an election of its own. */
async function leadWatched() {
  const watched = await openWatched();
  const path = uniquePath('election');
  const [elector, term] = await lead(watched.session, path);
  return { ...watched, path, elector, term, demoted: nextEvent<[Term, string]>(elector, 'demoted') };
}

describe('a session that may not read its own node any more', () => {
  it('gives up that node alone, says so once, and keeps its connection and what else it holds', async () => {
    const { session, errors, events } = await openWatched();
    const [taken, other] = [uniquePath('taken'), uniquePath('other')];
    const [hold, kept] = [
      await new DistributedLock(session, taken).acquire(),
      await new DistributedLock(session, other).acquire(),
    ];
    await (await openAdminClient()).setAcl(hold.path, [ALL_BUT_READ]);
    await aborted(hold.signal);
    const next = await openSession();
    await until(async () => (await next.getChildren(taken)).length === 0, 'the deletion of the node');
    await (await new DistributedLock(next, taken).acquire({ timeoutMs: 3000 })).release();
    const seenAt = kept.remainingMs();
    await until(() => kept.remainingMs() > seenAt, 'another heartbeat');
    expect(kept.isHeld()).toBe(true);
    expect(events).toEqual([]);
    expect(hold.signal.reason).toMatchObject({ reason: 'refused' });
    expect(errors).toHaveLength(1);
    for (const part of [hold.path, 'NO_AUTH', 'access list']) expect(errors[0]?.message).toContain(part);
    await kept.release();
  });

  it('leads again on a new node, with another term', async () => {
    const { elector, term, demoted, errors, events } = await leadWatched();
    const next = nextEvent<[Term]>(elector, 'elected');
    await (await openAdminClient()).setAcl(elector.claim?.node as string, [ALL_BUT_READ]);
    expect((await demoted)[1]).toBe('refused');
    expect((await next)[0].number).toBe(term.number + 1);
    expect(events).toEqual([]);
    expect(errors).toHaveLength(1);
  });

  it.each<[what: string, path: (election: string, session: Session) => Promise<string>, entry: AccessEntry]>([
    ['write its heartbeat node', heartbeatNode, ALL_BUT_WRITE],
    ['read the record', async (election) => election, ALL_BUT_READ],
  ])(
    'said that its node had been deleted, when it leads and may not %s: it names the refusal',
    async (_, find, entry) => {
      const { session, path, term, demoted, errors } = await leadWatched();
      await (await openAdminClient()).setAcl(await find(path, session), [entry]);
      expect((await demoted)[1]).toBe('refused');
      expect(term.signal.reason).toMatchObject({ reason: 'refused', cause: { cause: { code: 'NO_AUTH' } } });
      expect(errors[0]?.message).toContain('NO_AUTH');
    },
  );

  it('waits for a lock no longer, if it is next in line, and says why', async () => {
    const { session, errors, events } = await openWatched();
    const path = uniquePath('lock');
    const held = await new DistributedLock(await openSession(), path).acquire();
    const { hold } = await enqueue(new DistributedLock(session, path));
    const [, own] = await new DistributedLock(session, path).contenders();
    await (await openAdminClient()).setAcl(`${path}/${own?.node}`, [ALL_BUT_READ]);
    await expect(hold).rejects.toMatchObject({ code: 'NODE_LOST' });
    expect(events).toEqual([]);
    expect(errors).toHaveLength(1);
    expect(await new DistributedLock(session, path).contenders()).toHaveLength(1);
    await held.release();
  });
});
