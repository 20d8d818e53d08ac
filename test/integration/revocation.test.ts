import { describe, expect, it } from 'vitest';
import { type RevocationOptions, revokeLeader } from '../../src/election/revoke-leader.js';
import type { Term } from '../../src/election/term/term.js';
import { InvalidOptionError, RevocationRefusedError, WorkOverrunError } from '../../src/errors.js';
import { campaign, lead } from '../support/conclave/electors.js';
import { openSession, uniquePath } from '../support/conclave/sessions.js';
import { nextEvent } from '../support/events.mjs';
import { startProxy } from '../support/faults/start-proxy.js';

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
    for (const elector of [next, leader]) await elector.stop();
  });

  it('may use the grace to come to an end first', async () => {
    const path = uniquePath('revoked');
    const steps: string[] = [];
    const [leader, term] = await lead(await openSession(), path, {
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
    await leader.stop();
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
      await leader.stop();
    }
  });

  it('may refuse: the asker is notified, and the term goes on', async () => {
    const path = uniquePath('revoked');
    const [leader, term] = await lead(await openSession(), path, { id: 'firm', onRevoke: () => false });
    const asker = await openSession();
    const refused = revokeLeader(asker, path);
    await expect(refused).rejects.toBeInstanceOf(RevocationRefusedError);
    await expect(refused).rejects.toMatchObject({ leader: 'firm', answered: true });
    expect(term.isHeld()).toBe(true);
    // Asked again, it is asked again.
    await expect(revokeLeader(asker, path)).rejects.toMatchObject({ answered: true });
    await leader.stop();
  });

  it('is not replaced before its work has settled; work that takes longer than the grace is reported', async () => {
    const path = uniquePath('revoked');
    let finish: () => void = () => undefined;
    const [leader] = await lead(await openSession({ sessionTimeoutMs: 10_000 }), path, {
      lead: () =>
        new Promise<void>((resolve) => {
          finish = resolve;
        }),
    });
    const next = await campaign(await openSession(), path);
    const overrun = nextEvent<[Error]>(leader, 'error');
    const elected = nextEvent(next, 'elected');
    const revoked = revokeLeader(await openSession(), path, { graceMs: 50 });
    expect((await overrun)[0]).toBeInstanceOf(WorkOverrunError);
    expect(next.state.name).toBe('waiting');
    finish();
    await elected;
    await revoked;
    // The other way round it might lead once more, and its work would have no end.
    for (const elector of [leader, next]) await elector.stop();
  });

  it('that can not be reached does not answer', async () => {
    const path = uniquePath('revoked');
    const proxy = await startProxy();
    const [leader] = await lead(await openSession({ sessionTimeoutMs: 30_000 }, proxy.connectString), path);
    proxy.partition();
    const asker = await openSession({ sessionTimeoutMs: 500 });
    await expect(revokeLeader(asker, path, { graceMs: 10 })).rejects.toMatchObject({ answered: false });
    proxy.restore();
    await leader.stop();
  });

  it('keeps what it advertises, and may change it meanwhile', async () => {
    const path = uniquePath('revoked');
    const [leader] = await lead(await openSession(), path, { data: 'one', onRevoke: () => false });
    const asker = await openSession();
    await expect(revokeLeader(asker, path)).rejects.toBeInstanceOf(RevocationRefusedError);
    expect((await leader.leader())?.data).toBe('one');
    await leader.advertise('two');
    expect((await leader.leader())?.data).toBe('two');
    await leader.stop();
  });

  it('has to be asked by a client with the right to', async () => {
    const path = uniquePath('revoked');
    const auth = { scheme: 'digest', credentials: 'alice:wonder' };
    const [leader, term] = await lead(await openSession({ auth }), path);
    await expect(revokeLeader(await openSession(), path)).rejects.toMatchObject({ code: 'NO_AUTH' });
    expect(term.isHeld()).toBe(true);
    await leader.stop();
  });
});

describe('asking for a revocation', () => {
  it('gives undefined without a leader', async () => {
    const session = await openSession();
    expect(await revokeLeader(session, uniquePath('vacant'))).toBeUndefined();
  });

  it('ends with the reason of its signal', async () => {
    const path = uniquePath('revoked');
    const [leader] = await lead(await openSession(), path, { onRevoke: () => new Promise(() => undefined) });
    const abort = new AbortController();
    const asking = revokeLeader(await openSession(), path, { graceMs: 60_000, signal: abort.signal });
    abort.abort(new Error('never mind'));
    await expect(asking).rejects.toThrow('never mind');
    await leader.stop();
  });

  it.each([{ graceMs: -1 }, { by: '' }, { signal: 1 }, { grace: 1 }])('refuses %j', async (options) => {
    const wrong = revokeLeader(await openSession(), '/a', options as RevocationOptions);
    await expect(wrong).rejects.toBeInstanceOf(InvalidOptionError);
  });
});
