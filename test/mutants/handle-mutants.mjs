/** @import { Mutant } from './mutants.mjs' */

const CELL = 'unit/lease/shared-lease.test.ts';
const HANDLE = 'integration/term-handle.test.ts';

/** @param {string} from @param {string} to */
const inCell = (from, to) => ({ file: 'lease/shared-lease.ts', from, to });
/** @param {string} from @param {string} to */
const inEnd = (from, to) => ({ file: 'platform/time/shared-instant.ts', from, to });

/** Wrong versions of what other threads see of a term. @type {readonly Mutant[]} */
export const HANDLE_MUTANTS = [
  {
    name: 'cell-clocks-first',
    what: 'a thread reads the clock before the end of the lease',
    danger: 'the thread stands still in between: it takes an end of long after for an end of then',
    edits: [
      inEnd('    const instant = {', '    const now = this.#sources.monotonicMs();\n    const instant = {'),
      inEnd('msUntil(instant, this.#sources)', '(instant.monotonicMs ?? 0) - now'),
    ],
    file: CELL,
    test: 'the cell of a term > reads when the lease began, then both clocks, how long it lasts, and then the reason; it writes the up time first',
  },
  {
    name: 'cell-monotonic-alone',
    what: 'a thread goes by the monotonic clock alone',
    danger: 'the machine is suspended for longer than the lease, and the thread still holds the term',
    edits: [inEnd('uptimeMs: this.#read(UPTIME)', 'uptimeMs: undefined')],
    file: CELL,
    test: 'the cell of a term > is over when the machine has been suspended for longer than the lease',
  },
  {
    name: 'cell-lease-from-reply',
    what: 'the lease that other threads see counts from the reply',
    danger: 'a late reply begins a lease that others have waited out',
    edits: [
      {
        file: 'lease/own-node.ts',
        from: 'lease.provedAgo(() => this.proofAgeMs());',
        to: 'lease.provedAgo(() => 0 * this.proofAgeMs());',
      },
    ],
    file: HANDLE,
    test: 'the handle of a term > is one frozen plain object, whose copies in other threads stand for the term',
  },
  {
    name: 'cell-revived',
    what: 'the late reply to a heartbeat whose lease is over extends the cell to this instant',
    danger:
      'after a suspension of the machine, other threads hold the term again for as long as the steps of the up time',
    edits: [inCell('if (ms < this.#lengthMs) this.proved(sentAt);', 'this.proved(sentAt);')],
    file: CELL,
    test: 'the cell of a term > stays over when a late reply comes after the machine was suspended, though no thread has asked meanwhile',
  },
  {
    name: 'cell-lapse-forgotten',
    what: 'a thread that finds the lease over says so to no other thread',
    danger: 'a late reply to a heartbeat brings the term back, which one thread has taken for over',
    edits: [
      inCell("    Atomics.compareExchange(this.#numbers, REASON, LASTS, NUMBER_OF['lease-expired']);\n", ''),
    ],
    file: CELL,
    test: 'the cell of a term > stays over once a thread has found the lease over, though it is extended after that',
  },
  {
    name: 'cell-flag',
    what: 'a thread goes by a flag in place of the clocks',
    danger: 'the thread that would set the flag is blocked',
    edits: [inCell('if (leftMs > 0) return', 'if (leftMs > Number.NEGATIVE_INFINITY) return')],
    file: CELL,
    test: 'the cell of a term > stays over once a thread has found the lease over, though it is extended after that',
  },
  {
    name: 'cell-without-reason',
    what: 'a thread goes by the lease alone',
    danger: 'the thread goes on in a term that was given back',
    edits: [inCell('Atomics.load(this.#numbers, REASON) === LASTS ? leftMs : 0;', 'leftMs;')],
    file: CELL,
    test: 'the cell of a term > has the first reason for ever',
  },
  {
    name: 'cell-of-two-terms',
    what: 'all terms by the same node have one cell',
    danger: 'a thread goes on in a shard that was given back, because its process has another one',
    edits: [
      {
        file: 'lease/validity.ts',
        from: 'this.#cell = new LeaseCell(this.#node.shareLease());',
        to: 'this.#cell = (this.#node as unknown as { cell?: LeaseCell }).cell ??= new LeaseCell(this.#node.shareLease());',
      },
    ],
    file: HANDLE,
    test: 'the handle of a shard > has the id of the shard, and ends with that shard alone',
  },
  {
    name: 'handle-by-json',
    what: 'a handle that came through JSON passes for one',
    danger: 'the copy shares no memory with the thread of the term: it can never know of the end of the term',
    edits: [
      {
        file: 'lease/term-handle.ts',
        from: '  if (!types.isSharedArrayBuffer(lease) || !types.isSharedArrayBuffer(end)) return false;\n  return pid === process.pid && LeaseCell.isCell({ lease, end });',
        to: '  return pid === process.pid && (!types.isSharedArrayBuffer(lease) || LeaseCell.isCell({ lease, end } as never));',
      },
    ],
    file: 'unit/lease/term-handle.test.ts',
    test: 'a handle > is refused if it is a copy made by JSON, also in its own process',
  },
  {
    name: 'cell-ends-late',
    what: 'other threads learn of the end of a term after its signal has aborted',
    danger: 'a listener of the signal hands the work on while a thread still does it',
    edits: [
      {
        file: 'lease/validity.ts',
        from: '    this.#cell.end(reason);\n',
        to: '    nextTick(() => this.#cell?.end(reason));\n',
      },
    ],
    file: HANDLE,
    test: 'the handle of a term > says that the term has ended, and why, before its signal aborts',
  },
  {
    name: 'cell-length-fixed',
    what: 'other threads go on by the lease that was granted first',
    danger: 'a server grants a shorter session, its next holder begins, and the threads go on',
    edits: [
      {
        file: 'lease/own-node.ts',
        from: 'for (const lease of [this.#shared, this.#copy]) lease?.lasts(this.leaseMs);',
        to: '',
      },
    ],
    file: 'unit/lease/own-node.test.ts',
    test: 'a node of a session whose heartbeats a thread repeats > shows all threads at once that a server has granted a shorter lease',
  },
  {
    name: 'lapse-unheard',
    what: 'the thread of the term goes by its own lease alone',
    danger: 'the term goes on, though another thread has found it over and stopped its work',
    edits: [{ file: 'lease/validity.ts', from: ' && this.#cell?.reason === undefined;', to: ';' }],
    file: HANDLE,
    test: 'a lease that another thread finds over > is over in the thread of the term too, and ends the term',
  },
];
