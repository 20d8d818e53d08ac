import type { Logger } from '../logger.js';
import { nextTick } from '../timers.js';
import type { ElectedTerm, Term } from './term.js';

type Lead = (term: Term) => unknown;

const MESSAGE =
  'lead returned at once, and what it began goes on: did you forget to await it, or to return its promise? ' +
  'The term is given back as soon as lead has returned; what is to outlive that is counted with term.waitUntil()';

/** Those that were warned about. */
const warned = new WeakSet<Lead>();

/**
 * Does the leader's work, and warns, once for each such function, if it has returned at once and left something behind:
 * timers, sockets, files or processes of which there are more right after the call than there were right before it, so
 * nobody else can have begun them; and all it gave back had settled before the event loop turned, so that it can't have
 * waited for them. What was counted with `waitUntil` is none of that. Not seen is what is begun later, or goes over a socket
 * that is open already: so there are no false alarms.
 */
export async function callLead(lead: Lead, term: ElectedTerm, logger: Logger): Promise<void> {
  if (warned.has(lead)) return void (await lead(term));
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
  warned.add(lead);
  logger.warn({ term: term.number }, MESSAGE);
}

// What stdout and stderr are, to a terminal or a pipe: the first line that a process prints opens them.
const STANDARD_STREAMS: ReadonlySet<string> = new Set(['TTYWrap', 'PipeWrap']);

/** How many there are of what keeps the process alive. */
function activeResources(): number {
  return process.getActiveResourcesInfo().filter((kind) => !STANDARD_STREAMS.has(kind)).length;
}
