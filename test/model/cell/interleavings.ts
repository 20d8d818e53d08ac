import { LeaseCell, SharedLease } from '../../../src/lease/shared-lease.js';
import {
  type MachineInstant,
  machineInstantIn,
  type TimeSources,
  UPTIME_MARGIN_MS,
} from '../../../src/platform/time/machine-instant.js';
import { type Exploration, type Next, search } from '../explorer/search.js';

/**
 * Visits, breadth first, all interleavings of a thread that holds a term and of other threads that ask whether it is held. They run the
 * shipped code of the cell, one access to memory or to a clock at a time: {@link advance} runs a call again from its start, gives it the
 * values that its accesses had before, lets it do one more access, and stops it. Time passes, and the machine is suspended, at any moment.
 */

/** The model counts time in units, and the cell in milliseconds. */
const UNIT_MS = 1000;
const LEASE = 1;
/** Before a server grants a shorter one. */
const LONGER = 2;
const START = 10;

/** The calls of the threads, which a wrong variant replaces. */
export interface Rules {
  /** How long the term is held for, by a thread that has the handle, in milliseconds. */
  readonly remainingMs: (cell: Cell) => number;
  /** From when the lease of a heartbeat counts that was sent at `sentAtMs`, by the up time. */
  readonly leaseStart: (sentAtMs: number, sources: TimeSources) => MachineInstant;
  /** Extends the lease by how long ago a heartbeat was sent by the clock of the session. */
  readonly extend: (cell: Cell, ageMs: () => number) => void;
  /** Whether the holder's next term uses the same cell. */
  readonly reusesCell: boolean;
}

/** What the call of a thread uses: the shipped cell, or its memory and the clocks. */
export interface Cell {
  readonly cell: LeaseCell;
  readonly sources: TimeSources;
  readonly times: BigInt64Array;
  readonly numbers: Int32Array;
}

export const SHIPPED: Rules = {
  remainingMs: ({ cell }) => cell.remainingMs(),
  leaseStart: (sentAtMs, sources) =>
    machineInstantIn(() => sentAtMs - (sources.uptime as { readMs(): number }).readMs(), sources),
  extend: ({ cell }, ageMs) => cell.lease.provedAgo(ageMs),
  reusesCell: false,
};

export interface Bounds {
  /** For how long the machine runs, and for how long it is suspended. */
  readonly runs: number;
  readonly suspended: number;
  /** By how many units a thread lets the up time be late, as its steps demand. @default 0 */
  readonly late?: number;
  /** Whether leases are longer until a server grants a shorter one. @default false */
  readonly isShortened?: boolean;
  readonly heartbeats: number;
  /** Threads that have the handle, and how often each asks. */
  readonly threads: number;
  readonly calls: number;
}

type Value = number | bigint;

/** A call that has done some of its accesses, with the values of these. */
interface Call {
  readonly of: 'read' | 'ask' | 'confirm' | 'shorten' | 'end' | 'begin again';
  readonly values: readonly Value[];
  /** Whether a call that was over before this one began has returned `false`. */
  readonly isLate: boolean;
  /** The longest time for which the term was held at an instant since the call began. */
  readonly most: number;
}

interface World {
  readonly runs: number;
  readonly suspended: number;
  /** When the newest proof was sent, and how long a lease lasts. */
  readonly times: readonly [monotonic: bigint, uptime: bigint, length: bigint];
  readonly reason: number;
  /** When the newest heartbeats were sent, by the up time and by the monotonic clock: the one under way, and the newest confirmed one. */
  readonly underWay?: Sent;
  readonly confirmed: Sent;
  readonly sent: number;
  readonly hasEnded: boolean;
  /** Whether a call has returned `false`. */
  readonly wasOver: boolean;
  readonly holder?: Call;
  readonly threads: readonly { readonly calls: number; readonly call?: Call }[];
  readonly broken?: string;
}

interface Sent {
  readonly uptime: number;
  readonly monotonic: number;
}

/** Of the search that runs now. */
let lateBy = 0;

const TIMES = new BigInt64Array(3);
const NUMBERS = new Int32Array(2);

/** Thrown to stop a call before its next access. */
const STOPPED = Symbol('stopped');

const nowOf = ({ runs, suspended }: World): Sent => ({
  monotonic: START + runs,
  uptime: START + runs + suspended,
});

/** For how long the term is held at this very moment, in units: by the cell, and by the heartbeats that were sent. */
function heldFor(world: World): number {
  const { times, reason, hasEnded, confirmed } = world;
  if (reason !== 0 || hasEnded) return 0;
  const { monotonic, uptime } = nowOf(world);
  const inUnits = (time: bigint) => Number(time) / 1e6 / UNIT_MS;
  const length = inUnits(times[2]);
  const monotonicEnd = Math.min(inUnits(times[0]), confirmed.monotonic) + length;
  const uptimeEnd = Math.min(inUnits(times[1]), confirmed.uptime) + length + lateBy;
  return Math.max(0, Math.min(monotonicEnd - monotonic, uptimeEnd - uptime));
}

/** The calls that run now. They see this world, and change it. */
let present: { -readonly [Name in keyof World]: World[Name] };
let given: readonly Value[];
let at: number;
let taken: Value[];

function access(perform: () => Value): Value {
  if (at < given.length) return given[at++] as Value;
  if (taken.length > 0) throw STOPPED;
  const value = perform();
  taken.push(value);
  return value;
}

// The accesses of the shipped code.
const sources: TimeSources = {
  monotonicMs: () => access(() => nowOf(present).monotonic * UNIT_MS) as number,
  // A reading may be late by the step and by a margin. Here it is exact, and threads allow for as much as the bounds say.
  uptime: {
    get stepMs() {
      return lateBy * UNIT_MS - UPTIME_MARGIN_MS;
    },
    readMs: () => access(() => nowOf(present).uptime * UNIT_MS) as number,
  },
};
export const steppedAtomics = {
  load: (array: object, place: number) =>
    access(() => (array instanceof BigInt64Array ? (present.times[place] as bigint) : present.reason)),
  compareExchange: (array: object, place: number, expected: Value, value: Value) =>
    access(() => {
      if (!(array instanceof BigInt64Array)) {
        const before = present.reason;
        if (before === expected) present.reason = value as number;
        return before;
      }
      const before = present.times[place] as bigint;
      if (before === expected) present.times = withTime(place, value as bigint);
      return before;
    }),
  store: (array: object, place: number, value: Value) =>
    access(() => {
      if (array instanceof BigInt64Array) present.times = withTime(place, value as bigint);
      else present.reason = value as number;
      return value;
    }),
};
function withTime(place: number, time: bigint): World['times'] {
  return present.times.map((each, at) => (at === place ? time : each)) as unknown as World['times'];
}

const shared: Cell = {
  cell: new LeaseCell(
    new SharedLease(new SharedArrayBuffer(SharedLease.BYTES), sources),
    new SharedArrayBuffer(8),
  ),
  sources,
  times: TIMES,
  numbers: NUMBERS,
};

/** As `Validity.isHeld`: by the lease of the own node, and then by the reason in the cell. */
function holderHolds({ confirmed, times }: World): boolean {
  const { cell } = shared;
  const lengthMs = Number(times[2]) / 1e6;
  const lasts = (sources.uptime as { readMs(): number }).readMs() < confirmed.uptime * UNIT_MS + lengthMs;
  if (lasts && cell.reason === undefined) return true;
  cell.end('lease-expired');
  return false;
}

/** As `OwnNode.extendLease` and the listener of `Validity`. */
function confirm({ confirmed }: World, rules: Rules): void {
  const sentAtMs = confirmed.uptime * UNIT_MS;
  rules.extend(shared, () => (sources.uptime as { readMs(): number }).readMs() - sentAtMs);
  holderHolds(present);
}

function callOf(of: Call['of'], rules: Rules): number {
  if (of === 'read') return rules.remainingMs(shared);
  if (of === 'ask') return holderHolds(present) ? UNIT_MS : 0;
  if (of === 'end') shared.cell.end('resigned');
  if (of === 'confirm') confirm(present, rules);
  if (of === 'shorten') shared.cell.lease.lasts(LEASE * UNIT_MS);
  if (of === 'begin again') {
    steppedAtomics.store(NUMBERS, 0, 0);
    shared.cell.lease.proved(rules.leaseStart(present.confirmed.uptime * UNIT_MS, sources));
  }
  return 0;
}

/** One more access of a call. `result` if the call has returned. */
function advance(world: World, call: Call, rules: Rules): { world: World; call?: Call; result?: number } {
  present = { ...world };
  given = call.values;
  at = 0;
  taken = [];
  try {
    const result = callOf(call.of, rules);
    return { world: present, result, call };
  } catch (thrown) {
    if (thrown !== STOPPED) throw thrown;
    return { world: present, call: { ...call, values: [...call.values, ...taken] } };
  }
}

/** Notes for each call under way for how long the term is held now. */
function noted(world: World): World {
  const most = heldFor(world);
  const noteIn = <C extends Call | undefined>(call: C): C =>
    call === undefined || call.most >= most ? call : { ...call, most };
  return {
    ...world,
    ...(world.holder && { holder: noteIn(world.holder) }),
    threads: world.threads.map((thread) => (thread.call ? { ...thread, call: noteIn(thread.call) } : thread)),
  };
}

function without<Name extends 'holder' | 'underWay'>(world: World, name: Name): World {
  const { [name]: _, ...rest } = world;
  return rest as World;
}

function begun(of: Call['of'], { wasOver }: World): Call {
  return { of, values: [], isLate: wasOver, most: 0 };
}

/** The world after the call of a thread has returned: is its answer right? */
function judged(world: World, who: string, { of, isLate, most }: Call, result: number): World {
  if (of !== 'read' && of !== 'ask') return of === 'end' ? { ...world, hasEnded: true } : world;
  if (result <= 0) return { ...world, wasOver: true };
  if (isLate) return { ...world, broken: `${who} holds the term, though a call before has returned false` };
  if (of === 'read' && result / UNIT_MS > most)
    return {
      ...world,
      broken: `${who} holds the term for longer than it was held at any instant of the call`,
    };
  return world;
}

function stepsOf(world: World, rules: Rules, bounds: Bounds): Next<World>[] {
  const found: Next<World>[] = [];
  const add = (what: string, next: World) => found.push([what, noted(next)]);
  if (world.runs < bounds.runs) add('time passes', { ...world, runs: world.runs + 1 });
  if (world.suspended < bounds.suspended)
    add('the machine is suspended', { ...world, suspended: world.suspended + bounds.suspended });
  stepsOfHolder(world, rules, bounds, add);
  for (const [index, { calls, call }] of world.threads.entries()) {
    const who = `thread ${index}`;
    const withThread = (next: World, thread: World['threads'][number]): World => ({
      ...next,
      threads: next.threads.map((each, place) => (place === index ? thread : each)),
    });
    if (call === undefined) {
      if (calls < bounds.calls)
        add(`${who} asks`, withThread(world, { calls: calls + 1, call: begun('read', world) }));
      continue;
    }
    const after = advance(world, call, rules);
    if (after.result === undefined)
      add(`${who} does an access`, withThread(after.world, { calls, call: after.call as Call }));
    else {
      // The last access is an instant of the call, too.
      const last = { ...call, most: Math.max(call.most, heldFor(after.world)) };
      add(`${who} gets ${after.result}`, withThread(judged(after.world, who, last, after.result), { calls }));
    }
  }
  return found;
}

function stepsOfHolder(
  world: World,
  rules: Rules,
  bounds: Bounds,
  add: (what: string, next: World) => void,
): void {
  const { holder, underWay, hasEnded } = world;
  if (holder !== undefined) {
    const after = advance(world, holder, rules);
    if (after.result === undefined)
      add('the holder does an access', { ...after.world, holder: after.call as Call });
    else {
      const last = { ...holder, most: Math.max(holder.most, heldFor(after.world)) };
      const judgedWorld = judged(without(after.world, 'holder'), 'the holder', last, after.result);
      add(`the holder has done: ${holder.of}`, judgedWorld);
    }
    return;
  }
  if (underWay === undefined && world.sent < bounds.heartbeats)
    add('a heartbeat is sent', { ...world, underWay: nowOf(world), sent: world.sent + 1 });
  if (underWay !== undefined) {
    const confirmed = without({ ...world, confirmed: underWay }, 'underWay');
    add('a heartbeat is confirmed', hasEnded ? confirmed : { ...confirmed, holder: begun('confirm', world) });
  }
  if (!hasEnded) {
    if (world.times[2] > nsOf(LEASE))
      add('a server grants a shorter lease', { ...world, holder: begun('shorten', world) });
    add('the holder asks', { ...world, holder: begun('ask', world) });
    add('the term ends', { ...world, holder: begun('end', world) });
  } else if (rules.reusesCell) add('the next term begins', { ...world, holder: begun('begin again', world) });
}

function key({ runs, suspended, times, reason, underWay, confirmed, sent, ...rest }: World): string {
  const { hasEnded, wasOver, holder, threads, broken } = rest;
  const ofCall = (call?: Call) => call && `${call.of}${call.values.join(' ')};${call.isLate};${call.most}`;
  const ofSent = (each?: Sent) => each && `${each.uptime} ${each.monotonic}`;
  const ofReaders = threads.map(({ calls, call }) => `${calls}${ofCall(call)}`).join('/');
  const clocks = `${runs},${suspended},${times.join()},${reason},${ofSent(underWay)},${ofSent(confirmed)},${sent}`;
  return `${clocks}|${hasEnded}${wasOver}|${ofCall(holder)}|${ofReaders}|${broken}`;
}

const nsOf = (units: number) => BigInt(units * UNIT_MS) * 1_000_000n;

/** Visits all states within the bounds. `Atomics` has to be {@link steppedAtomics} meanwhile. */
export function explore(rules: Rules, bounds: Bounds): Exploration {
  lateBy = bounds.late ?? 0;
  const length = nsOf(bounds.isShortened ? LONGER : LEASE);
  const first: World = {
    ...{ runs: 0, suspended: 0, reason: 0, sent: 0, hasEnded: false, wasOver: false },
    times: [nsOf(START), nsOf(START), length],
    confirmed: { uptime: START, monotonic: START },
    threads: Array.from({ length: bounds.threads }, () => ({ calls: 0 })),
  };
  return search({
    first,
    key,
    stepsOf: (world) => stepsOf(world, rules, bounds),
    brokenPromise: ({ broken }) => broken,
  });
}
