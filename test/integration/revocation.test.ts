import { describe, expect, it } from 'vitest';
import type { Revocation } from '../../src/election/elector-options.js';
import { parseRequest, writeRequest } from '../../src/election/requests/candidate-request.js';
import { type RevocationOptions, revokeLeader } from '../../src/election/revoke-leader.js';
import type { Term } from '../../src/election/term/term.js';
import {
  InvalidOptionError,
  NoCandidateError,
  RevocationRefusedError,
  WorkOverrunError,
} from '../../src/errors.js';
import type { NodeData } from '../../src/session/protocol/multi-and-stats.js';
import { campaign, candidateNodes, lead } from '../support/conclave/electors.js';
import { openSession, openWithPath, uniquePath } from '../support/conclave/sessions.js';
import { eventAfter, nextEvent } from '../support/events.js';
import { startProxy } from '../support/faults/start-proxy.js';
import { deferred, until } from '../support/waiting.mjs';

describe('a leader that is asked to step down', () => {
  it('does, with the reason revoked, and the next one leads; it joins again at the back', async () => {
    const path = uniquePath('revoked');
    const [leader, term] = await lead(await openSession(), path, { id: 'leader', data: 'mine' });
    const next = await campaign(await openSession(), path, { id: 'next' });
    const demoted = nextEvent(leader, 'demoted');
    const elected = nextEvent(next, 'elected');
    const waitsAgain = nextEvent(leader, 'waiting');
    const asked = await revokeLeader(await openSession(), path, { by: 'an operator' });
    expect(asked).toMatchObject({ id: 'leader', data: 'mine' });
    expect(await demoted).toEqual([term, 'revoked']);
    expect(term.signal.reason).toMatchObject({ code: 'TERM_ENDED', reason: 'revoked' });
    await Promise.all([elected, waitsAgain]);
    expect((await leader.candidates()).map(({ id }) => id)).toEqual(['next', 'leader']);
  });

  it('may use the grace to come to an end first', async () => {
    const path = uniquePath('revoked');
    const steps: string[] = [];
    const [, term] = await lead(await openSession(), path, {
      onRevoke: async (revocation) => {
        steps.push(`asked by ${revocation.by}, ${revocation.graceMs} ms, held: ${revocation.term.isHeld()}`);
        await Promise.resolve();
        steps.push('finished');
        return true;
      },
    });
    term.signal.addEventListener('abort', () => steps.push('aborted'));
    await revokeLeader(await openSession(), path, { by: 'me', graceMs: 10_000 });
    expect(steps).toEqual(['asked by me, 10000 ms, held: true', 'finished', 'aborted']);
  });

  it('ends its term when the grace is over and its policy still thinks, or has failed', async () => {
    for (const onRevoke of [
      () => new Promise<boolean>(() => undefined),
      () => Promise.reject(new Error('can not decide')),
    ]) {
      const path = uniquePath('revoked');
      const [leader] = await lead(await openSession(), path, { onRevoke });
      const demoted = nextEvent<[Term, string]>(leader, 'demoted');
      await revokeLeader(await openSession(), path, { graceMs: 100 });
      expect((await demoted)[1]).toBe('revoked');
    }
  });

  it('may refuse: the asker is notified, and the term goes on', async () => {
    const path = uniquePath('revoked');
    const [, term] = await lead(await openSession(), path, { id: 'firm', onRevoke: () => false });
    const asker = await openSession();
    const refused = revokeLeader(asker, path);
    await expect(refused).rejects.toBeInstanceOf(RevocationRefusedError);
    await expect(refused).rejects.toMatchObject({ leader: 'firm', answered: true });
    expect(term.isHeld()).toBe(true);
    // A second request reaches the leader as well.
    await expect(revokeLeader(asker, path)).rejects.toMatchObject({ answered: true });
  });

  it('is not replaced before its work has settled; work that takes longer than the grace is reported', async () => {
    const path = uniquePath('revoked');
    const work = deferred();
    const [leader] = await lead(await openSession({ sessionTimeoutMs: 10_000 }), path, {
      lead: () => work.promise,
    });
    const next = await campaign(await openSession(), path);
    const overrun = nextEvent<[Error]>(leader, 'error');
    const elected = nextEvent(next, 'elected');
    const revoked = revokeLeader(await openSession(), path, { graceMs: 50 });
    expect((await overrun)[0]).toBeInstanceOf(WorkOverrunError);
    expect(next.state.name).toBe('waiting');
    work.resolve();
    await elected;
    await revoked;
  });

  it('does so though another client has overwritten the data of its node', async () => {
    const { session, path } = await openWithPath('revoked');
    const [leader, term] = await lead(await openSession(), path);
    const [node] = await candidateNodes(session, path);
    await session.setData(`${path}/${node}`, Buffer.from('{"note":"edited by hand"}'));
    const demoted = nextEvent(leader, 'demoted');
    await revokeLeader(session, path);
    expect(await demoted).toEqual([term, 'revoked']);
  });

  it('that can not be reached does not answer', async () => {
    const path = uniquePath('revoked');
    const proxy = await startProxy();
    await lead(await openSession({ sessionTimeoutMs: 30_000 }, proxy.connectString), path);
    proxy.partition();
    const asker = await openSession({ sessionTimeoutMs: 500 });
    await expect(revokeLeader(asker, path, { graceMs: 10 })).rejects.toMatchObject({ answered: false });
    proxy.restore();
  });

  it('keeps what it advertises, and may change it meanwhile', async () => {
    const path = uniquePath('revoked');
    const [leader] = await lead(await openSession(), path, { data: 'one', onRevoke: () => false });
    const asker = await openSession();
    await expect(revokeLeader(asker, path)).rejects.toBeInstanceOf(RevocationRefusedError);
    expect((await leader.leader())?.data).toBe('one');
    await leader.advertise('two');
    expect((await leader.leader())?.data).toBe('two');
  });

  it('has to be asked by a client with the right to', async () => {
    const path = uniquePath('revoked');
    const auth = { scheme: 'digest', credentials: 'alice:wonder' };
    const [, term] = await lead(await openSession({ auth }), path);
    await expect(revokeLeader(await openSession(), path)).rejects.toMatchObject({ code: 'NO_AUTH' });
    expect(term.isHeld()).toBe(true);
  });
});

describe('a leader that is asked to hand over', () => {
  it('releases its term to that candidate, wherever it is in the queue; the others keep their places', async () => {
    const path = uniquePath('handed-over');
    const seen: unknown[] = [];
    const onRevoke = ({ to, by }: Revocation) => {
      seen.push([by, to]);
      return true;
    };
    const [leader, term] = await lead(await openSession(), path, { id: 'leader', onRevoke });
    await campaign(await openSession(), path, { id: 'ahead' });
    const named = await campaign(await openSession(), path, { id: 'named' });
    const demoted = nextEvent<[Term, string]>(leader, 'demoted');
    const elected = nextEvent<[Term]>(named, 'elected');
    const asked = await revokeLeader(await openSession(), path, { to: 'named', by: 'an operator' });
    expect(asked).toMatchObject({ id: 'leader' });
    expect(await demoted).toEqual([term, 'revoked']);
    const [next] = await elected;
    expect([next.number, next.token > term.token]).toEqual([2, true]);
    expect(seen).toEqual([['an operator', 'named']]);
    await until(async () => (await named.candidates()).length === 3, 'the former leader in the queue again');
    expect((await named.candidates()).map(({ id }) => id)).toEqual(['named', 'ahead', 'leader']);
  });

  it('knows the candidate by the name of its node, too', async () => {
    const path = uniquePath('handed-over');
    const [leader] = await lead(await openSession(), path);
    const twins = [
      await campaign(await openSession(), path, { id: 'twin' }),
      await campaign(await openSession(), path, { id: 'twin' }),
    ] as const;
    const node = (await leader.candidates())[2]?.node as string;
    await eventAfter(twins[1], 'elected', async () => revokeLeader(await openSession(), path, { to: node }));
    expect(twins[0].term).toBeUndefined();
  });

  it('is asked nothing for a candidate that is not there, or is the leader itself', async () => {
    const path = uniquePath('handed-over');
    let asked = 0;
    const onRevoke = () => {
      asked++;
      return true;
    };
    const session = await openSession();
    const [leader, term] = await lead(session, path, { id: 'leader', onRevoke });
    await campaign(await openSession(), path, { id: 'other' });
    const node = `${path}/${(await leader.leader())?.node}`;
    const { version } = (await session.getData(node)).stat;
    for (const to of ['missing', 'leader']) {
      const wrong = revokeLeader(await openSession(), path, { to });
      await expect(wrong).rejects.toBeInstanceOf(NoCandidateError);
      await expect(wrong).rejects.toMatchObject({ candidate: to });
    }
    expect([asked, (await session.getData(node)).stat.version, term.isHeld()]).toEqual([0, version, true]);
  });

  it('goes on when the candidate has left before it looked, and the requester is told so', async () => {
    const path = uniquePath('handed-over');
    let asked = 0;
    const errors: Error[] = [];
    const onRevoke = () => {
      asked++;
      return true;
    };
    const session = await openSession();
    const [leader, term] = await lead(session, path, { onRevoke });
    leader.on('error', (error) => void errors.push(error));
    const other = await campaign(await openSession(), path, { id: 'other' });
    const node = `${path}/${(await leader.leader())?.node}`;
    // Writes the request like a requester that has seen the candidate a moment ago.
    const request = { kind: 'step-down', key: 'k', by: 'me', graceMs: 5000, to: 'left' } as const;
    await writeRequest(session, node, request);
    await until(async () => answerOf(await session.getData(node)) !== undefined, 'its answer');
    expect(answerOf(await session.getData(node))).toBe('no-candidate');
    expect([asked, term.isHeld(), other.state.name, errors]).toEqual([0, true, 'waiting', []]);
  });

  it('goes on when the candidate leaves while its policy thinks', async () => {
    const path = uniquePath('handed-over');
    const thinks = deferred();
    const decided = deferred();
    const onRevoke = async () => {
      thinks.resolve();
      await decided.promise;
      return true;
    };
    const [, term] = await lead(await openSession(), path, { onRevoke });
    const other = await campaign(await openSession(), path, { id: 'other' });
    const named = await campaign(await openSession(), path, { id: 'named' });
    const asking = revokeLeader(await openSession(), path, { to: 'named', graceMs: 60_000 });
    await thinks.promise;
    await named.stop();
    decided.resolve();
    await expect(asking).rejects.toMatchObject({ code: 'NO_CANDIDATE', candidate: 'named' });
    expect([term.isHeld(), other.state.name]).toEqual([true, 'waiting']);
  });

  it('lets the queue decide when the candidate leaves while its work settles', async () => {
    const path = uniquePath('handed-over');
    const settled = deferred();
    const [leader] = await lead(await openSession(), path, { lead: () => settled.promise });
    const other = await campaign(await openSession(), path, { id: 'other' });
    const named = await campaign(await openSession(), path, { id: 'named' });
    const demoted = nextEvent(leader, 'demoted');
    const elected = nextEvent(other, 'elected');
    const asking = revokeLeader(await openSession(), path, { to: 'named', graceMs: 60_000 });
    await demoted;
    await named.stop();
    settled.resolve();
    await asking;
    await elected;
  });
});

function answerOf({ data }: NodeData): string | undefined {
  const request = parseRequest(data);
  return request?.kind === 'step-down' ? request.reason : undefined;
}

describe('asking for a revocation', () => {
  it('gives undefined without a leader', async () => {
    const session = await openSession();
    expect(await revokeLeader(session, uniquePath('vacant'))).toBeUndefined();
  });

  it('ends with the reason of its signal', async () => {
    const path = uniquePath('revoked');
    await lead(await openSession(), path, { onRevoke: () => new Promise(() => undefined) });
    const abort = new AbortController();
    const asking = revokeLeader(await openSession(), path, { graceMs: 60_000, signal: abort.signal });
    abort.abort(new Error('never mind'));
    await expect(asking).rejects.toThrow('never mind');
  });

  it.each([{ graceMs: -1 }, { by: '' }, { to: '' }, { signal: 1 }, { grace: 1 }])(
    'refuses %j',
    async (options) => {
      const wrong = revokeLeader(await openSession(), '/a', options as RevocationOptions);
      await expect(wrong).rejects.toBeInstanceOf(InvalidOptionError);
    },
  );
});
