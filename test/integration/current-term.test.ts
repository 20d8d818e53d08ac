import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { LeaderElectorEvents } from '../../src/election/elector-state.js';
import type { Term } from '../../src/election/term/term.js';
import { InvalidOptionError, InvalidStateError, TermEndedError } from '../../src/errors.js';
import { currentTerm, withTerm } from '../../src/lease/current-term.js';
import type { HeldTerm } from '../../src/lease/held-term.js';
import { deferred } from '../../src/platform/async/promises.js';
import type { Shard } from '../../src/shards/ownership/owned-shard.js';
import { ShardSupervisor } from '../../src/shards/supervisor/shard-supervisor.js';
import { campaign, lead } from '../support/conclave/electors.js';
import { connectString, openSession, uniquePath } from '../support/conclave/sessions.js';
import { nextEvent } from '../support/events.js';

describe('the current term', () => {
  it('is, in all code that lead and a listener of elected begin, the term that lead got', async () => {
    const session = await openSession();
    const seen: HeldTerm[] = [];
    const inListener = deferred<HeldTerm>();
    const inTimer = deferred<HeldTerm>();
    const elector = await campaign(session, uniquePath(), {
      lead: async (term) => {
        seen.push(term, currentTerm());
        await nextTurn();
        seen.push(currentTerm());
        setTimeout(() => inTimer.resolve(currentTerm()));
        await term.ended;
        seen.push(currentTerm()); // Until its work has settled.
      },
    });
    elector.once('elected', () => inListener.resolve(currentTerm()));
    seen.push(await inListener.promise, await inTimer.promise);
    await elector.stop();
    expect(seen).toHaveLength(6);
    expect(new Set(seen).size).toBe(1);
  });

  it('is in a function given to waitUntil, and in the work of withTerm, the innermost term', async () => {
    const session = await openSession();
    const [, outer] = await lead(session, uniquePath());
    const [, inner] = await lead(session, uniquePath());
    const given = deferred<HeldTerm>();
    outer.waitUntil(() => given.resolve(currentTerm()));
    expect(await given.promise).toBe(outer);
    const seen = await withTerm(outer, async () => {
      const within = await withTerm(inner, () => currentTerm());
      return [within, currentTerm()];
    });
    expect(seen).toEqual([inner, outer]);
    expect(seen[0]).toBe(inner);
  });

  it('is not there outside the work of a term, nor when that has settled', async () => {
    expect(() => currentTerm()).toThrow(InvalidStateError);
    expect(() => currentTerm()).toThrow('`lead`');
    const late = deferred<unknown>();
    const [leads, goesOn] = [deferred<void>(), deferred<void>()];
    const elector = await campaign(await openSession(), uniquePath(), {
      lead: (term) => {
        leads.resolve();
        void goesOn.promise.then(() => late.resolve(askedSafely()));
        return term.ended;
      },
    });
    await leads.promise;
    expect(() => currentTerm()).toThrow(InvalidStateError);
    await elector.stop();
    goesOn.resolve();
    expect(await late.promise).toBeInstanceOf(InvalidStateError);
  });

  it('is in the run of a shard, the shard', async () => {
    const ran = deferred<[Shard, HeldTerm]>();
    const supervisor = new ShardSupervisor({
      ...{ connect: connectString(), path: uniquePath(), shards: 1 },
      run: async (shard) => {
        await nextTurn();
        ran.resolve([shard, currentTerm()]);
        await shard.ended;
      },
    });
    onTestFinished(() => supervisor.stop());
    await supervisor.start();
    const [shard, term] = await ran.promise;
    expect(term).toBe(shard);
  });
});

describe('work with a term', () => {
  it('settles as the work does, and a rejection goes to the caller alone', async () => {
    const [elector, term] = await lead(await openSession(), uniquePath());
    const reported: unknown[] = [];
    elector.on('error', (...args: Parameters<LeaderElectorEvents['error']>) => reported.push(args[0]));
    expect(await withTerm(term, (got) => [got === term, term.number])).toEqual([true, term.number]);
    const broken = new Error('broken');
    await expect(withTerm(term, () => Promise.reject(broken))).rejects.toBe(broken);
    await expect(
      withTerm(term, () => {
        throw broken;
      }),
    ).rejects.toBe(broken);
    await elector.stop();
    expect(reported).toEqual([]);
  });

  it('is waited for before the term is released', async () => {
    const [session, path] = [await openSession(), uniquePath()];
    const [elector, term] = await lead(session, path);
    const next = await campaign(await openSession(), path);
    const elected = nextEvent<[Term]>(next, 'elected');
    const [begun, done] = [deferred<void>(), deferred<string>()];
    const work = withTerm(term, () => {
      begun.resolve();
      return done.promise;
    });
    await begun.promise;
    const demoted = nextEvent(elector, 'demoted');
    const stopped = elector.stop();
    await demoted;
    await session.getChildren(path); // A round trip, in which the next candidate would have been elected.
    expect(next.isLeader).toBe(false);
    done.resolve('done');
    expect(await work).toBe('done');
    await stopped;
    await elected;
  });

  it.each(['before the call', 'right after it'])(
    'isn’t called in a term that ended %s, and rejects with the reason',
    async (when) => {
      const [elector, term] = await lead(await openSession(), uniquePath());
      let calls = 0;
      if (when === 'before the call') await elector.stop();
      const work = withTerm(term, () => calls++);
      const stopped = elector.stop();
      await expect(work).rejects.toBe(term.signal.reason);
      await expect(work).rejects.toBeInstanceOf(TermEndedError);
      await stopped;
      expect(calls).toBe(0);
    },
  );

  it('is refused with what isn’t a term or a function', async () => {
    const [, term] = await lead(await openSession(), uniquePath());
    for (const wrong of [undefined, null, {}, { token: 1n }])
      await expect(withTerm(wrong as unknown as HeldTerm, () => 1)).rejects.toBeInstanceOf(
        InvalidOptionError,
      );
    await expect(withTerm(term, Promise.resolve() as unknown as () => 1)).rejects.toThrow('work');
  });
});

function askedSafely(): unknown {
  try {
    return currentTerm();
  } catch (error) {
    return error;
  }
}
