import { describe, expect, it } from 'vitest';
import type { Entry, Hand, Happening, Micros, SinkName } from '../history.js';
import { checkHistory } from './check.js';
import { HoldCheck } from './holds.js';
import { RecordVersions } from './record-versions.js';

const MS = 1000;

/** A history of an election and a lock, to which each test adds its case. */
class Writer {
  readonly entries: Entry[] = [];

  constructor() {
    this.add(0, {
      kind: 'setting',
      seed: 1,
      minutes: 1,
      journals: [
        { name: 'red', kind: 'election' },
        { name: 'counter', kind: 'lock' },
      ],
      sessionTimeoutMs: 5000,
      hasTakeoverDelay: true,
      areThreadsCareless: false,
      recoveryMs: 20_000,
      notAllowed: [],
    });
  }

  add(atMs: number, what: Happening): this {
    this.entries.push({ at: atMs * MS, ...what } as Entry);
    return this;
  }

  /** A process asks every 50 ms whether it leads. It does. */
  leads(who: string, token: number, fromMs: number, toMs: number, journal = 'red'): this {
    for (let atMs = fromMs; atMs <= toMs; atMs += 50) this.held(who, token, atMs, atMs, journal);
    return this;
  }

  held(
    who: string,
    token: number,
    atMs: number,
    untilMs: number,
    journal = 'red',
    hand: Hand = 'main',
  ): this {
    return this.add(atMs, { kind: 'held', who, journal, hand, token: String(token), until: micros(untilMs) });
  }

  /** Another thread of the process asks every 50 ms whether the term is held. It is. */
  actsInThread(who: string, token: number, fromMs: number, toMs: number, everyMs = 50): this {
    for (let atMs = fromMs; atMs <= toMs; atMs += everyMs) this.held(who, token, atMs, atMs, 'red', 'thread');
    return this;
  }

  /** A thread asks whether the term is held. It isn't. */
  over(who: string, token: number, atMs: number, hand: Hand): this {
    const [journal, until] = ['red', micros(atMs)];
    return this.add(atMs, { kind: 'not held', who, journal, hand, token: String(token), until });
  }

  /** A server shows a version of the record of `red`, which the transaction `zxid` wrote. */
  shown(version: number, zxid: number, node = 1): this {
    const [of, by] = [String(node), String(zxid)];
    return this.add(0, { kind: 'shown', who: 'a', journal: 'red', node: of, version, zxid: by });
  }

  elected(atMs: number, who: string, term: number, token: number, version = token): this {
    return this.add(atMs, { kind: 'elected', who, journal: 'red', term, token: String(token), version });
  }

  demoted(atMs: number, who: string, token: number, reason = 'resigned'): this {
    return this.add(atMs, { kind: 'demoted', who, journal: 'red', token: String(token), reason });
  }

  taken(
    position: number,
    token: number,
    write: string,
    sink: SinkName = 'fenced',
    hand: Hand = 'main',
  ): this {
    const journal = 'red';
    return this.add(0, { kind: 'taken', sink, journal, hand, token: String(token), position, write });
  }

  answered(write: string, taken = true, sink: SinkName = 'fenced'): this {
    return this.add(0, { kind: 'answer', who: 'a', sink, journal: 'red', write, taken });
  }

  get verdict() {
    return checkHistory([...this.entries, { at: 0, kind: 'over' }]);
  }

  /** The violations, by kind. */
  get wrong(): string[] {
    return this.verdict.violations.map(({ kind }) => kind);
  }
}

function micros(ms: number): Micros {
  return ms * MS;
}

const history = () => new Writer();

describe('the checker of histories', () => {
  it('finds nothing wrong with two leaders, one after the other', () => {
    const good = history()
      .elected(0, 'a', 1, 10)
      .leads('a', 10, 0, 1000)
      .demoted(1001, 'a', 10)
      .elected(1010, 'b', 2, 11)
      .leads('b', 11, 1010, 2000)
      .demoted(2001, 'b', 11);
    expect(good.wrong).toEqual([]);
    expect(good.verdict.gaps.withoutFaults).toEqual({ count: 1, p50: 10, p99: 10, max: 10 });
    expect(good.verdict.holds.holds).toHaveLength(2);
  });

  it('needs the setting at the beginning and says when the end is missing', () => {
    expect(() => checkHistory([])).toThrow('expected its setting');
    expect(checkHistory(history().entries).violations.map(({ kind }) => kind)).toEqual([
      'an incomplete history',
    ]);
  });

  describe('of two that lead at once', () => {
    it('finds an overlap, however short', () => {
      expect(history().leads('a', 10, 0, 1000).leads('b', 11, 999, 2000).wrong).toEqual([
        'two leaders at once',
      ]);
      expect(history().leads('a', 10, 0, 1000).leads('b', 11, 1000, 2000).wrong).toEqual([
        'two leaders at once',
      ]);
    });

    it('finds a term within another, and the next one after it that still overlaps the first', () => {
      const nested = history().leads('a', 10, 0, 3000).leads('b', 11, 500, 1000).leads('c', 12, 2000, 4000);
      expect(nested.wrong).toEqual(['two leaders at once', 'two leaders at once']);
    });

    it('finds a leader that goes on long after its successor has begun, though it did not act for a while', () => {
      const stopped = history().leads('a', 10, 0, 100).leads('b', 11, 2000, 3000).held('a', 10, 2500, 2500);
      expect(stopped.wrong).toEqual(['two leaders at once']);
    });

    it('takes the moment before the question, whenever the answer comes: a stop in between is no overlap', () => {
      const stopped = history().leads('a', 10, 0, 950).held('a', 10, 1000, 9000).leads('b', 11, 4000, 9000);
      expect(stopped.wrong).toEqual([]);
      expect(stopped.verdict.holds.slowChecks).toBe(1);
    });

    it('finds two owners of a shard at once, and a token of it that went back', () => {
      const check = new HoldCheck([{ name: 'shard 0', kind: 'shard' }], new RecordVersions());
      const owns = (who: string, token: number, fromMs: number, toMs: number) => {
        for (const entry of history().leads(who, token, fromMs, toMs, 'shard 0').entries) check.see(entry);
      };
      owns('a', 10, 0, 1000);
      owns('b', 9, 950, 2000);
      expect(check.conclude().violations.map(({ kind }) => kind)).toEqual([
        'two leaders at once',
        'a token that went back',
      ]);
    });

    it('counts overlaps of a lock, for which there is no takeover delay', () => {
      const lock = history().leads('a', 10, 0, 1000, 'counter').leads('b', 11, 900, 2000, 'counter');
      expect(lock.wrong).toEqual([]);
      expect(lock.verdict.holds.overlapsOfLocks).toBe(1);
    });
  });

  describe('of stalls', () => {
    const MAX_STALL_MS = 4000;
    const began: Happening = { kind: 'process began', who: 'a', maxStallMs: MAX_STALL_MS };
    /** The main thread of a leader stands still from 1000 ms on. */
    const stalled = (forMs: number) =>
      history()
        .add(0, began)
        .elected(0, 'a', 1, 10)
        .leads('a', 10, 0, 950)
        .add(1000, { kind: 'stalls', who: 'a', forMs });
    const goOn: Happening = { kind: 'stalled', who: 'a' };

    it('counts acts of another thread in a stall, and terms that are kept', () => {
      const { violations, stalls, holds } = stalled(3000)
        .actsInThread('a', 10, 1000, 3950)
        .add(4000, goOn)
        .actsInThread('a', 10, 4000, 4950).verdict;
      expect(violations).toEqual([]);
      expect(stalls).toMatchObject({
        ...{ stalls: 1, overLease: 1, overMost: 0, actsOfThreads: 80, actsInStalls: 60 },
        ...{ kept: 1, keptOverLease: 1, keptInCalm: 1, lost: 0 },
      });
      expect(holds.holds).toMatchObject([{ from: 0, to: 4950 * MS }]);
    });

    it('finds a thread that acts beside the next leader, though the main thread stands still', () => {
      const careless = stalled(6000)
        .actsInThread('a', 10, 1000, 6950)
        .elected(6800, 'b', 2, 11)
        .leads('b', 11, 6800, 8000);
      expect(careless.wrong).toEqual(['two leaders at once']);
      const right = stalled(6000).actsInThread('a', 10, 1000, 6750).over('a', 10, 6790, 'thread');
      expect(right.elected(6800, 'b', 2, 11).leads('b', 11, 6800, 8000).wrong).toEqual([]);
    });

    it('finds a thread whose token is lower than that of a leader before', () => {
      const late = history().leads('b', 11, 0, 900).actsInThread('a', 10, 1000, 1050);
      expect(late.wrong).toEqual(['a token that went back']);
    });

    it.each([
      ['thread', 'main'],
      ['main', 'thread'],
      ['thread', 'thread'],
    ] as const)('finds an answer yes of the %s after one of no of the %s', (later, first) => {
      const over = () => history().leads('a', 10, 0, 1000).over('a', 10, 1050, first);
      expect(over().held('a', 10, 1051, 1052, 'red', later).wrong).toEqual(['held again']);
      // The question may have come before the answer no.
      expect(over().held('a', 10, 1050, 1052, 'red', later).wrong).toEqual([]);
      expect(over().held('a', 12, 1051, 1052, 'red', later).wrong).toEqual([]);
    });

    it('finds a term that a stall shorter than maxStallMs has cost, with no fault nearby', () => {
      const lost = (forMs: number) =>
        stalled(forMs).actsInThread('a', 10, 1000, 2950).over('a', 10, 3000, 'thread');
      expect(lost(3000).add(4000, goOn).wrong).toEqual(['a term lost in a stall']);
      expect(lost(3000).add(4000, goOn).verdict.stalls).toMatchObject({ kept: 0, lost: 1 });
      expect(lost(MAX_STALL_MS).add(5000, goOn).wrong).toEqual([]);
      expect(lost(MAX_STALL_MS).add(5000, goOn).verdict.stalls).toMatchObject({ overMost: 1, lost: 0 });
      expect(lost(3000).wrong).toEqual([]); // The process was killed.
    });

    it('goes by what the main thread finds after a stall, and tells losses from ends on purpose', () => {
      const found = (reason: string, atMs = 4100) =>
        stalled(3000).actsInThread('a', 10, 1000, 3950).add(4000, goOn).demoted(atMs, 'a', 10, reason);
      expect(found('lease-expired').wrong).toEqual(['a term lost in a stall']);
      expect(found('lease-expired', 5100).wrong).toEqual([]);
      expect(found('resigned').wrong).toEqual([]);
      expect(found('resigned').verdict.stalls).toMatchObject({ kept: 0, lost: 0 });
    });

    it('only counts a loss near a fault other than a stall, and one in which the threads had no processor', () => {
      const fault = (name: string): Happening => ({ kind: 'fault', fault: 1, name, on: 'b' });
      const lost = (name: string, everyMs = 50) =>
        history()
          .add(0, fault(name))
          .add(100, { kind: 'mended', fault: 1 })
          .add(500, began)
          .elected(500, 'a', 1, 10)
          .add(1000, { kind: 'stalls', who: 'a', forMs: 3000 })
          .actsInThread('a', 10, 1000, 2950, everyMs)
          .over('a', 10, 3000, 'thread')
          .add(4000, goOn);
      expect(lost('a server is killed').wrong).toEqual([]);
      expect(lost('a server is killed').verdict.stalls.lost).toBe(1);
      expect(lost("a worker's event loop is blocked").wrong).toEqual(['a term lost in a stall']);
      const without = lost("a worker's event loop is blocked", 900);
      expect(without.wrong).toEqual([]);
      expect(without.verdict.stalls.lostInCalmWithoutProcessor).toBe(1);
    });

    it('counts failures of the thread', () => {
      const { stalls } = history()
        .add(0, { kind: 'thread fails', who: 'a', how: 'exits' })
        .add(1, { kind: 'thread fails', who: 'a', how: 'hangs' }).verdict;
      expect(stalls.threadFailures).toBe(2);
    });
  });

  describe('of terms and tokens', () => {
    it('finds a leader whose token is lower than that of the one before, or the same', () => {
      expect(history().leads('a', 10, 0, 1000).leads('b', 9, 2000, 3000).wrong).toEqual([
        'a token that went back',
      ]);
      expect(history().leads('a', 10, 0, 1000).leads('b', 10, 2000, 3000).wrong).toEqual([
        'a token that went back',
      ]);
    });

    it('finds a term number that two have, or that went back', () => {
      expect(history().elected(0, 'a', 1, 10).elected(10, 'b', 1, 11).wrong).toEqual(['a term given twice']);
      expect(history().elected(0, 'a', 2, 10).elected(10, 'b', 1, 11).wrong).toEqual(['a term given twice']);
      expect(history().elected(0, 'a', 1, 10).elected(10, 'b', 2, 10).wrong).toEqual(['a term given twice']);
    });

    describe('that ZooKeeper took back: its servers have shown the version of the claim again, or a lower one, by a later transaction', () => {
      /** Term 1 of a is claimed twice: by a at version 3, and by b at some version. */
      const twice = (version: number) => history().elected(0, 'a', 1, 10, 3).elected(10, 'b', 1, 12, version);

      it('counts the term that came again', () => {
        const again = twice(3).shown(3, 10).shown(3, 12);
        expect(again.wrong).toEqual([]);
        expect(again.verdict.terms.takenBack).toEqual(['red: term 1 of a (10), term 1 of b (12)']);
      });

      it('counts it also after further writes, at a higher version', () => {
        expect(twice(4).shown(3, 10).shown(3, 11).shown(4, 12).wrong).toEqual([]);
        expect(twice(5).shown(3, 10).shown(2, 11).shown(5, 12).wrong).toEqual([]);
      });

      it('counts an overlap with the term, and no other one', () => {
        const overlap = twice(3).leads('a', 10, 0, 1000).leads('b', 12, 950, 2000);
        expect(overlap.wrong).toEqual(['two leaders at once', 'a term given twice']);
        const excused = overlap.shown(3, 10).shown(3, 12);
        expect(excused.wrong).toEqual([]);
        expect(excused.verdict.holds.takenBack).toHaveLength(1);
        expect(excused.leads('c', 13, 1500, 3000).wrong).toEqual(['two leaders at once']);
      });

      it('counts a lower token that is first used after a higher one', () => {
        const late = twice(3).leads('b', 12, 0, 900).leads('a', 10, 1000, 2000);
        expect(late.wrong).toEqual(['a token that went back', 'a term given twice']);
        expect(late.shown(3, 10).shown(3, 12).wrong).toEqual([]);
      });

      it('is not assumed when versions rise with transactions, or are another node’s, or were seen twice', () => {
        expect(twice(4).shown(3, 10).shown(4, 12).wrong).toEqual(['a term given twice']);
        expect(twice(4).shown(3, 10).shown(3, 10).shown(2, 9).wrong).toEqual(['a term given twice']);
        expect(twice(4).shown(3, 10, 1).shown(1, 11, 2).wrong).toEqual(['a term given twice']);
        expect(twice(3).wrong).toEqual(['a term given twice']);
      });
    });

    it('goes by tokens, not by who wrote first: a process may be stopped before it says that it was elected', () => {
      expect(history().elected(20, 'b', 2, 11).elected(30, 'a', 1, 10).wrong).toEqual([]);
    });

    it('finds a term that ends twice, that was never begun, or that an orderly end of its process leaves open', () => {
      const ended: Happening = { kind: 'process ended', who: 'a', how: '0', orderly: true };
      const killed: Happening = { kind: 'process ended', who: 'a', how: 'SIGKILL', orderly: false };
      const led = () => history().elected(0, 'a', 1, 10);
      expect(led().demoted(1, 'a', 10).demoted(2, 'a', 10).wrong).toEqual(['not demoted once']);
      expect(history().demoted(1, 'a', 10).wrong).toEqual(['not demoted once']);
      expect(led().add(1, ended).wrong).toEqual(['not demoted once']);
      expect(led().add(1, killed).wrong).toEqual([]);
    });

    it('finds a supervisor that leads again after the loss of its session, without its hook', () => {
      const lost = () => history().elected(0, 'a', 1, 10).demoted(1, 'a', 10, 'session-expired');
      expect(lost().elected(2, 'a', 2, 11).wrong).toEqual(['joined again without clean-up']);
      const cleaned: Happening = { kind: 'cleaned', who: 'a', journal: 'red' };
      expect(lost().add(2, cleaned).elected(3, 'a', 2, 11).wrong).toEqual([]);
    });
  });

  describe('of writes', () => {
    it('finds nothing wrong with a journal in which everything stands once, acknowledged or not', () => {
      const good = history()
        .taken(0, 10, 'a-1')
        .answered('a-1')
        .taken(1, 10, 'a-2')
        .taken(2, 11, 'b-1')
        .answered('b-1');
      expect(good.wrong).toEqual([]);
      expect(good.verdict.journals.fenced).toMatchObject({ taken: 3, lost: 0, doubled: 0, outOfTurn: 0 });
    });

    it('finds a write that was acknowledged and never taken', () => {
      expect(history().taken(0, 10, 'a-1').answered('a-1').answered('a-2').wrong).toEqual(['a lost write']);
    });

    it('finds a write that was acknowledged and that another one stands in the place of', () => {
      const overwritten = history().taken(0, 10, 'a-1').answered('a-1').taken(0, 11, 'b-1').answered('b-1');
      expect(overwritten.wrong).toEqual(['a write out of place', 'a lost write']);
    });

    it('does not ask for a write that was refused', () => {
      expect(history().taken(0, 11, 'b-1').answered('a-1', false).wrong).toEqual([]);
    });

    it('finds a write that stands there twice', () => {
      expect(history().taken(0, 10, 'a-1').taken(1, 10, 'a-1').wrong).toEqual(['a doubled write']);
    });

    it('finds a token that a fence should have refused', () => {
      expect(history().taken(0, 11, 'b-1').taken(1, 10, 'a-1').wrong).toEqual(['a lower token was taken']);
    });

    it('finds a gap in a journal', () => {
      expect(history().taken(0, 10, 'a-1').taken(2, 10, 'a-2').wrong).toEqual(['a write out of place']);
    });

    it('gives each thread of a process pages of its own, behind one fence', () => {
      const inThread = (position: number, token: number, write: string) =>
        history().taken(0, 10, 'a-1').taken(position, token, write, 'fenced', 'thread');
      expect(inThread(0, 10, 'a-thread-1').wrong).toEqual([]);
      expect(inThread(1, 10, 'a-thread-1').wrong).toEqual(['a write out of place']);
      expect(inThread(0, 9, 'b-thread-1').wrong).toEqual(['a lower token was taken']);
      expect(inThread(0, 10, 'a-1').wrong).toEqual(['a doubled write']);
    });

    it('counts what happens without a fence', () => {
      const open = history()
        .taken(0, 10, 'a-1', 'open')
        .answered('a-1', true, 'open')
        .taken(1, 11, 'b-1', 'open')
        .answered('b-1', true, 'open')
        .taken(1, 10, 'a-2', 'open')
        .answered('a-2', true, 'open');
      expect(open.wrong).toEqual([]);
      expect(open.verdict.journals.open).toEqual({ taken: 3, refused: 0, lost: 1, doubled: 0, outOfTurn: 1 });
    });
  });

  describe('of what comes after faults', () => {
    const calm = (fromMs: number, toMs: number) =>
      history()
        .add(fromMs, { kind: 'calm', storm: 1 })
        .add(toMs, { kind: 'calm is over', storm: 1 })
        .leads('l', 1, fromMs, fromMs, 'counter');

    it('finds an election without a leader within the bound', () => {
      expect(calm(0, 30_000).leads('a', 10, 19_000, 40_000).wrong).toEqual([]);
      expect(calm(0, 30_000).leads('a', 10, 21_000, 40_000).wrong).toEqual(['no leader within the bound']);
      expect(calm(0, 30_000).wrong).toEqual(['no leader within the bound']);
      expect(calm(0, 15_000).wrong).toEqual([]);
    });

    it('says what happened last at an election that had no leader in time', () => {
      const late = calm(1000, 31_000).elected(21_400, 'a', 1, 10).leads('a', 10, 21_500, 22_000);
      expect(late.verdict.violations.map(({ what }) => what)).toContainEqual(
        expect.stringMatching(/its last events: 20400 ms: a leads term 1 at version 10, 21000 ms: a acts$/),
      );
      expect(calm(0, 30_000).verdict.violations[0]?.what).toMatch(/its last events: none$/);
    });

    it('excuses a calm in which the servers disagreed, and not the one that begins when that is mended', () => {
      const excused = () => calm(0, 30_000).add(27_000, { kind: 'servers disagree', what: 'a node' });
      expect(excused().wrong).toEqual([]);
      expect(excused().verdict.faults.disagreements).toHaveLength(1);
      const again = excused()
        .add(31_000, { kind: 'calm', storm: 1 })
        .leads('l', 2, 31_000, 60_000, 'counter');
      expect(again.wrong).toEqual(['no leader within the bound']);
    });

    it('says how long it took; nothing, when there was a leader all the time', () => {
      expect(calm(5000, 9000).leads('a', 10, 0, 9000).verdict.recoveriesMs).toEqual([0, 0]);
      expect(calm(0, 9000).leads('a', 10, 2500, 9000).verdict.recoveriesMs).toEqual([2500, 0]);
    });

    it('finds an orphan, a process that is stuck, and whatever the run says has failed', () => {
      expect(history().add(0, { kind: 'left behind', path: '/chaos/red/_c_1-lock-0' }).wrong).toEqual([
        'an orphan',
      ]);
      expect(history().add(0, { kind: 'stuck', who: 'a' }).wrong).toEqual(['a process that did not stop']);
      expect(history().add(0, { kind: 'failure', what: 'a server' }).wrong).toEqual(['a failure of the run']);
    });

    it('divides the gaps into those with a fault nearby and those without', () => {
      const verdict = history()
        .add(1000, { kind: 'fault', fault: 1, name: 'a worker is killed', on: 'a' })
        .leads('a', 10, 0, 1000)
        .leads('b', 11, 9000, 12_000)
        .add(10_000, { kind: 'mended', fault: 1 })
        .leads('c', 12, 12_100, 40_000)
        .leads('d', 13, 40_020, 50_000).verdict;
      expect(verdict.violations).toEqual([]);
      expect(verdict.gaps.withFaults).toEqual({ count: 2, p50: 100, p99: 8000, max: 8000 });
      expect(verdict.gaps.withoutFaults).toEqual({ count: 1, p50: 20, p99: 20, max: 20 });
      expect(verdict.faults.counts).toEqual(new Map([['a worker is killed', 1]]));
    });
  });
});
