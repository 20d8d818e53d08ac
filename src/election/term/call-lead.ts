import type { DemotionReason } from '../../errors.js';
import type { Logger } from '../../platform/logging/logger.js';
import { nextTick } from '../../platform/time/timers.js';
import type { Term } from './term.js';

type Lead = (term: Term) => unknown;

/** What has to be known of a term, beyond what its leader is given. */
interface LedTerm extends Term {
  /** How many pieces of work have still to settle. */
  readonly workCount: number;
  /** Why it has ended, once it has. */
  readonly endedFor: DemotionReason | undefined;
}

const MESSAGE =
  'lead returned at once, and what it began goes on: did you forget to await it, or to return its promise? ' +
  'The term is given back as soon as lead has returned; what is to outlive that is counted with term.waitUntil()';

// A look takes as long as the process has timers and sockets: 1 ms with 20,000 of them. One that leads thousands of elections
// has them, and its functions are mostly the same one.
const MOST_LOOKS = 100;
/** The functions that were looked at: each in its first term, and so many in the life of the process. */
const seen = new WeakSet<Lead>();
let looks = 0;

/**
 * Does the leader's work, and warns, in the first term of each such function, if it has returned at once and left something behind:
 * timers, sockets, files or processes of which there are more right after the call than there were right before it, so
 * nobody else can have begun them; and all it gave back had settled before the event loop turned, so that it can't have
 * waited for them. What was counted with `waitUntil` is none of that. Not seen is what is begun later, or goes over a socket
 * that is open already. A file that a logger writes to later, as pino does with `sync: false`, may be taken for such work.
 */
export async function callLead(lead: Lead, term: LedTerm, logger: Logger): Promise<void> {
  if (seen.has(lead) || looks === MOST_LOOKS) return void (await lead(term));
  seen.add(lead);
  looks++;
  const [resources, works] = [activeResources(), term.workCount];
  const result = lead(term);
  const began = activeResources() > resources && term.workCount === works;
  // What ends the term by itself has something to wait for, too.
  if (!began || term.endedFor !== undefined) return void (await result);
  let turned = false;
  nextTick(() => {
    turned = true; // All that could settle without it has.
  });
  await result;
  if (turned) return;
  logger.warn({ term: term.number }, MESSAGE);
}

// What stdout and stderr are, to a terminal or a pipe: the first line that a process prints opens them.
const STANDARD_STREAMS: ReadonlySet<string> = new Set(['TTYWrap', 'PipeWrap']);

/** How many there are of what keeps the process alive. */
function activeResources(): number {
  return process.getActiveResourcesInfo().filter((kind) => !STANDARD_STREAMS.has(kind)).length;
}
