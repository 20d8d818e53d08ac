import { FIRST_THREAD_XID, LENGTH_BYTES, XID_OFFSET } from '../../../src/session/protocol/frame-layout.js';
import { OP_CODE } from '../../../src/testing/protocol/op-codes.js';
import { type NodeWrite, readRequest } from '../../../src/testing/protocol/requests.js';
import { WireReader } from '../../../src/wire/jute.js';
import type { Ledger } from '../ledger.js';
import type { Machine } from '../machine.js';
import { WORST_DRIFT } from '../model/ensemble.js';
import type { Wire } from '../model/socket.js';
import type { Scheduler } from '../scheduler.js';

/** The clocks of the processes run at rates within 1 %. */
const DRIFT = 1 + 2 * WORST_DRIFT;
const LONGEST_PAST_STALL_MS = 1000;
const SLACK_MS = 30;
const OP_CODE_OFFSET = XID_OFFSET + 4;

/** From the last turn of a main thread until no heartbeat is sent for it: rule 4 of `maxStallMs`. */
export function repeatedForMs(maxStallMs: number): number {
  return DRIFT * Math.min((9 / 8) * maxStallMs, maxStallMs + LONGEST_PAST_STALL_MS) + SLACK_MS;
}

/** The process whose thread repeats heartbeats. */
export interface Repeated {
  readonly id: string;
  readonly clock: Machine;
  readonly maxStallMs: number;
}

/** Looks at the bytes that leave a process, and checks for which nodes and until when its thread repeats heartbeats. */
export class RepeatChecker {
  readonly #process: Repeated;
  readonly #ledger: Ledger;
  readonly #scheduler: Scheduler;
  readonly #greeted = new WeakSet<Wire>();
  /** The nodes whose terms have begun in the main thread. A node leads one term at most. */
  readonly #begun = new Set<string>();
  readonly #released = new Set<string>();

  constructor(process: Repeated, ledger: Ledger, scheduler: Scheduler) {
    this.#process = process;
    this.#ledger = ledger;
    this.#scheduler = scheduler;
  }

  /** A term has begun in the main thread, led by the node at that path. */
  began(path: string): void {
    this.#begun.add(path);
  }

  /** @param bytes - whole frames */
  written(wire: Wire, bytes: Buffer): void {
    let at = 0;
    if (!this.#greeted.has(wire)) {
      this.#greeted.add(wire); // The handshake has no xid.
      at = LENGTH_BYTES + bytes.readInt32BE(0);
    }
    for (let end = at; at < bytes.length; at = end) {
      end = at + LENGTH_BYTES + bytes.readInt32BE(at);
      const opCode = bytes.readInt32BE(at + OP_CODE_OFFSET);
      if (opCode !== OP_CODE.multi && opCode !== OP_CODE.delete) continue;
      const { xid, operation } = readRequest(new WireReader(bytes.subarray(at + LENGTH_BYTES, end)));
      const parts = operation?.kind === 'multi' ? operation.parts : [operation as NodeWrite];
      if (xid >= FIRST_THREAD_XID) this.#checkRepeat(parts);
      else for (const { kind, path } of parts) if (kind === 'delete') this.#released.add(path);
    }
  }

  #checkRepeat(parts: readonly NodeWrite[]): void {
    const { id, clock, maxStallMs } = this.#process;
    const wrong = (what: string) => this.#ledger.violate('repeat', `the thread of ${id} ${what}`);
    this.#ledger.count('heartbeats of threads');
    const stalledMs = this.#scheduler.now - clock.standsSince;
    const boundMs = repeatedForMs(maxStallMs);
    const inThousandths = (1000 * stalledMs) / boundMs;
    this.#ledger.time('until a thread stops in a stall, in thousandths of the bound', inThousandths);
    if (stalledMs > boundMs) wrong(`sends a heartbeat ${Math.round(stalledMs)} ms after the last turn`);
    for (const part of parts) {
      if (part.kind !== 'check' || part.version !== -1) continue; // A check of a version is about the record.
      const { path } = part;
      if (!this.#begun.has(path)) wrong(`sends a heartbeat for ${path}, whose term has not begun`);
      if (this.#released.has(path)) wrong(`sends a heartbeat for ${path} behind its release`);
    }
  }
}
