import type { DemotionReason } from '../../errors.js';
import type { Logger } from '../../platform/logging/logger.js';
import { nextTick } from '../../platform/time/timers.js';
import type { Term } from './term.js';

type Lead = (term: Term) => unknown;

/** A term, with the count of its unsettled work and, after its end, the reason of the end. */
type LedTerm = Term & { readonly workCount: number; readonly endedFor: DemotionReason | undefined };

const MESSAGE =
  'lead returned at once, but work that it began still runs: did you forget to await it, or to return its promise? ' +
  'The term ends as soon as lead returns. Pass work that runs longer to term.waitUntil()';

// A check takes time in proportion to the process's timers and sockets: 1 ms with 20,000 of them. A process that leads
// thousands of elections has that many, and mostly uses the same function for all.
const MOST_CHECKS = 100;
/** The functions that were checked, each in its first term. A process checks at most `MOST_CHECKS` functions. */
const checked = new WeakSet<Lead>();
let checks = 0;

/**
 * Calls `lead`. In the first term of each function, it warns if `lead` has returned at once and left work behind. Two signs show that.
 * First, right after the call the process has more timers, sockets, files or child processes than right before it: no other code can have
 * begun them. Second, the result settled before the event loop turned: `lead` can't have waited for them.
 *
 * Work that was given to `waitUntil` causes no warning. The check misses work that begins later, or that uses a socket which was open
 * before. A file that a logger writes to later, as pino does with `sync: false`, may be taken for such work.
 */
export async function callLead(lead: Lead, term: LedTerm, logger: Logger): Promise<void> {
  if (checked.has(lead) || checks === MOST_CHECKS) return void (await lead(term));
  checked.add(lead);
  checks++;
  const [resources, works] = [activeResources(), term.workCount];
  const result = lead(term);
  const began = activeResources() > resources && term.workCount === works;
  // If the function ended the term itself, the term isn't given back too early.
  if (!began || term.endedFor !== undefined) return void (await result);
  let turned = false;
  nextTick(() => {
    turned = true; // By now, every promise that can settle within the same turn of the event loop has settled.
  });
  await result;
  if (turned) return;
  logger.warn({ term: term.number }, MESSAGE);
}

// The resource types of stdout and stderr, for a terminal or a pipe. The first line that a process prints opens them.
const STANDARD_STREAMS: ReadonlySet<string> = new Set(['TTYWrap', 'PipeWrap']);

/** How many resources keep the process alive. */
function activeResources(): number {
  return process.getActiveResourcesInfo().filter((kind) => !STANDARD_STREAMS.has(kind)).length;
}
