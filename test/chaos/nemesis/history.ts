import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import type { Links } from './schedule.js';

/** Microseconds on the machine's monotonic clock: the same for all of its processes, whatever their wall clocks say. */
export type Micros = number;

export function now(): Micros {
  return Number(process.hrtime.bigint() / 1000n);
}

/** The resources that fencing distinguishes: an election, a lock, or a shard of the group. Each has a journal of its own at the sink. */
export interface Journal {
  readonly name: string;
  readonly kind: 'election' | 'lock' | 'shard';
}

/** `fenced` refuses a token that is lower than one it has seen; `open` takes everything. */
export type SinkName = 'fenced' | 'open';

/** Which thread of a process acts: its main thread, or another one that acts by the term's handle. */
export type Hand = 'main' | 'thread';

/** The first line of a history, with all settings that the checker needs. */
export interface Setting {
  readonly kind: 'setting';
  readonly seed: number;
  /** Not given for a brief run. */
  readonly minutes?: number | undefined;
  readonly journals: readonly Journal[];
  readonly sessionTimeoutMs: number;
  /** @default 'proxied' */
  readonly links?: Links;
  /** Whether candidates wait until a former leader's lease is over, as they do by default. */
  readonly hasTakeoverDelay: boolean;
  /** Whether the threads that act ask before they act, as they have to. */
  readonly areThreadsCareless: boolean;
  /** Whether workers wrongly count leases from the replies. */
  readonly areLeasesFromReplies?: boolean;
  /** How soon after the end of all faults each election must have a leader that acts, and each lock a holder. */
  readonly recoveryMs: number;
  /** Kinds of faults that the machine doesn't allow, and why. */
  readonly notAllowed: readonly string[];
}

/**
 * The events, in the order in which they were written down: all processes append to the same file. Tokens are written
 * in decimal, because they are too long for a number.
 */
export type Entry = { readonly at: Micros } & (
  | Setting
  | { readonly kind: 'storm'; readonly storm: number }
  /** All faults of the storm have ended, and all servers serve. */
  | { readonly kind: 'calm'; readonly storm: number }
  | { readonly kind: 'calm is over'; readonly storm: number }
  /**
   * ZooKeeper has broken its promise: one server's data differ from the others', though all of them serve and are up to date.
   * That server gets the others' data, and the calm begins again.
   */
  | { readonly kind: 'servers disagree'; readonly what: string }
  | { readonly kind: 'fault'; readonly fault: number; readonly name: string; readonly on: string }
  | { readonly kind: 'mended'; readonly fault: number }
  /** The observed effect of a fault that might have had none. */
  | { readonly kind: 'effect'; readonly fault: number; readonly name: string; readonly what: string }
  | { readonly kind: 'passed over'; readonly name: string; readonly why: string }
  /** A request that is no fault: a leader was asked to resign. */
  | { readonly kind: 'wish'; readonly what: string; readonly on: string }
  /** An observation of the run itself, for people to read. */
  | { readonly kind: 'note'; readonly what: string }
  /** A process of a worker: each has a name of its own. */
  | ProcessBegan
  /** `orderly`: it ended by itself, after it had been asked to stop. */
  | { readonly kind: 'process ended'; readonly who: string; readonly how: string; readonly orderly: boolean }
  | Elected
  | Demoted
  | Shown
  /** The hook was called for this journal's supervisor, and succeeded. */
  | { readonly kind: 'cleaned'; readonly who: string; readonly journal: string }
  | Check
  | Stalls
  /** The main thread goes on. */
  | { readonly kind: 'stalled'; readonly who: string }
  /** A thread of connections fails, as the run has told it. */
  | { readonly kind: 'thread fails'; readonly who: string; readonly how: string }
  | Answer
  | Taken
  | {
      readonly kind: 'refused';
      readonly sink: SinkName;
      readonly journal: string;
      readonly token: string;
      readonly highest: string;
    }
  /** A contender's node that is still there after all workers have stopped and all sessions have ended. */
  | { readonly kind: 'left behind'; readonly path: string }
  /** A process that was asked to stop and didn't do so in time. */
  | { readonly kind: 'stuck'; readonly who: string }
  /** An event that must not happen and isn't a fault: a worker ends by itself, a server doesn't start. */
  | { readonly kind: 'failure'; readonly what: string }
  | { readonly kind: 'over' }
);

export interface ProcessBegan {
  readonly kind: 'process began';
  readonly who: string;
  /** Of its sessions. Without it, they have no thread, and no other thread acts. */
  readonly maxStallMs?: number | undefined;
}

/** A process blocks its main thread from this moment on, for so many milliseconds or somewhat longer. */
export interface Stalls {
  readonly kind: 'stalls';
  readonly who: string;
  readonly forMs: number;
}

export interface Elected {
  readonly kind: 'elected';
  readonly who: string;
  readonly journal: string;
  readonly term: number;
  readonly token: string;
  /** The record's version after the claim. */
  readonly version: number;
}

/**
 * A server has shown this version of the record of an election or a shard. Servers make each version of a node once, and the later one has
 * the higher transaction number: `zxid` is that of the write, `node` that of the creation. A process writes each version down once.
 */
export interface Shown {
  readonly kind: 'shown';
  readonly who: string;
  readonly journal: string;
  readonly node: string;
  readonly version: number;
  readonly zxid: string;
}

export interface Demoted {
  readonly kind: 'demoted';
  readonly who: string;
  readonly journal: string;
  readonly token: string;
  readonly reason: string;
}

/**
 * A process asked whether it holds the term (or the lock), and the answer was yes, or no. `at` is the moment before the question,
 * `until` the one after the answer. The entry is written before the act that follows it.
 *
 * A process that holds at some moment has held ever since its term began: a term doesn't come back. The answer was
 * given at `at` or later. So the term was certainly held at `at`, however long the process stood still between question
 * and answer. From `until` on the process acts without knowing.
 */
export interface Check {
  readonly kind: 'held' | 'not held';
  readonly who: string;
  readonly journal: string;
  readonly hand: Hand;
  readonly token: string;
  readonly until: Micros;
}

/** What a sink has answered to a write. */
export interface Answer {
  readonly kind: 'answer';
  readonly who: string;
  readonly sink: SinkName;
  readonly journal: string;
  readonly write: string;
  readonly taken: boolean;
}

/** A sink has taken a write. That position of the journal now has this write in place of any earlier one. */
export interface Taken {
  readonly kind: 'taken';
  readonly sink: SinkName;
  readonly journal: string;
  readonly hand: Hand;
  readonly token: string;
  readonly position: number;
  readonly write: string;
}

type Distributed<T> = T extends unknown ? Omit<T, 'at'> : never;
export type Happening = Distributed<Entry>;

/** A file that several processes append to. An entry is in the file when the call returns, and outlives SIGKILL. */
export class History {
  readonly #file: number;

  constructor(path: string) {
    this.#file = openSync(path, 'a');
  }

  /** @param at - when it happened, if that was not now */
  write(what: Happening, at: Micros = now()): void {
    writeSync(this.#file, `${JSON.stringify({ at, ...what })}\n`);
  }
}

const CHUNK = 1 << 20;

/**
 * The entries of a history, one after the other, because a run of hours writes too much for the memory.
 *
 * @throws Error for a line that isn't JSON, with its number
 */
export function* readHistory(path: string): Generator<Entry, void> {
  let number = 0;
  for (const line of linesOf(path)) {
    number++;
    try {
      yield JSON.parse(line) as Entry;
    } catch (cause) {
      throw new Error(`line ${number} of ${path} is no entry of a history: ${line.slice(0, 100)}`, { cause });
    }
  }
}

function* linesOf(path: string): Generator<string, void> {
  const file = openSync(path, 'r');
  try {
    const chunk = Buffer.alloc(CHUNK);
    const decoder = new StringDecoder();
    let rest = '';
    for (let read = readSync(file, chunk); read > 0; read = readSync(file, chunk)) {
      const lines = (rest + decoder.write(chunk.subarray(0, read))).split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
    if (rest !== '') yield rest;
  } finally {
    closeSync(file);
  }
}
