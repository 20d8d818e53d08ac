import type { DemotionReason } from '../../errors.js';
import type { Logger } from '../../platform/logging/logger.js';
import { nextTick } from '../../platform/time/timers.js';
import type { Term } from './term.js';

type Lead = (term: Term) => unknown;

/** A term, with the count of its unsettled work and the reason of its end, once it has ended. */
type LedTerm = Term & { readonly workCount: number; readonly endedFor: DemotionReason | undefined };

const MESSAGE =
  'lead returned at once, and what it began goes on: did you forget to await it, or to return its promise? ' +
  'The term is given back as soon as lead has returned; what is to outlive that is counted with term.waitUntil()';

// A check takes time in proportion to the process's timers and sockets: 1 ms with 20,000 of them. A process that leads
// thousands of elections has as many, and mostly the same function for all.
const MOST_CHECKS = 100;
/** The functions that were checked, each in its first term; `MOST_CHECKS` of them in the life of the process. */
const checked = new WeakSet<Lead>();
let checks = 0;

/**
 * Calls `lead`, and in the first term of each function warns if it has returned at once and left work behind. That is so if
 * the process has more timers, sockets, files or child processes right after the call than right before it, so that no other
 * code can have begun them, and the result had settled before the event loop turned, so that `lead` can't have waited for
 * them. Work that was given to `waitUntil` causes no warning. Work that is begun later, or uses a socket that was open before,
 * isn't found. A file that a logger writes to later, as pino does with `sync: false`, may be taken for such work.
 */
export async function callLead(lead: Lead, term: LedTerm, logger: Logger): Promise<void> {
  if (checked.has(lead) || checks === MOST_CHECKS) return void (await lead(term));
  checked.add(lead);
  checks++;
  const [resources, works] = [activeResources(), term.workCount];
  const result = lead(term);
  const began = activeResources() > resources && term.workCount === works;
  // A function that has ended the term itself was given back nothing too early.
  if (!began || term.endedFor !== undefined) return void (await result);
  let turned = false;
  nextTick(() => {
    turned = true; // Every promise that settles without the event loop's turn has settled.
  });
  await result;
  if (turned) return;
  logger.warn({ term: term.number }, MESSAGE);
}

// The kinds of stdout and stderr, to a terminal or a pipe: the first line that a process prints opens them.
const STANDARD_STREAMS: ReadonlySet<string> = new Set(['TTYWrap', 'PipeWrap']);

/** How many resources keep the process alive. */
function activeResources(): number {
  return process.getActiveResourcesInfo().filter((kind) => !STANDARD_STREAMS.has(kind)).length;
}
