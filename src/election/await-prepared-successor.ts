import { onAbort } from '../platform/async/lazy-abort-controller.js';
import { abortable, ignore } from '../platform/async/promises.js';
import type { Logger } from '../platform/logging/logger.js';
import type { Contender } from '../queue/contender.js';
import { untilFound } from '../session/observers/followed-node.js';
import type { NodeData } from '../session/protocol/multi-and-stats.js';
import { preparedOf } from './candidates/candidate.js';
import type { NextLeaderWatch } from './candidates/next-leader-watch.js';
import type { MarkedSuccessor, Successor } from './candidates/successor.js';
import type { ElectedTerm } from './term/elected-term.js';

/** A leader that waits for its successor. */
export interface WaitingLeader {
  readonly contender: Contender;
  readonly next: Pick<NextLeaderWatch, 'find'>;
  readonly term: Pick<ElectedTerm, 'signal' | 'describe'>;
  readonly logger: Logger;
}

/**
 * Resolves when the candidate that leads next is prepared or doesn't prepare, when there is none, when the term has ended, or after `ms`
 * milliseconds with a warning. If that candidate leaves, the next one counts, but for a `named` one there is no other. If the servers
 * refuse a read, there is nothing to wait for. Never rejects.
 */
export async function untilPrepared(
  { contender, next, term, logger }: WaitingLeader,
  ms: number,
  named?: MarkedSuccessor,
): Promise<void> {
  const { clock } = contender.session;
  const ended = new AbortController();
  const unsubscribe = onAbort(term.signal, () => ended.abort(term.signal.reason));
  let successor: Successor | undefined = named;
  const timer = clock.after(ms, () => {
    const details = { ...term.describe(), successor: successor?.node, waitedMs: Math.round(ms) };
    logger.warn(details, 'the candidate that leads next is not prepared: handing over all the same');
    ended.abort();
  });
  const waiting = async () => {
    successor ??= await abortable(next.find(), ended.signal);
    while (successor !== undefined && (await hasLeft(contender, successor, ended.signal)))
      successor = named === undefined ? await abortable(next.find(successor), ended.signal) : undefined;
  };
  await waiting().catch(ignore); // The term ends in either case.
  timer.clear();
  unsubscribe();
  ended.abort(); // The watch ends with it.
}

/** Resolves when the candidate is prepared or doesn't prepare, with `false`, or when it has left the queue, with `true`. */
async function hasLeft(
  { session, queue }: Contender,
  { node }: Successor,
  signal: AbortSignal,
): Promise<boolean> {
  const isReady = ({ data }: NodeData) => preparedOf(data) !== false || undefined;
  return (await untilFound(session, `${queue}/${node}`, isReady, signal)) === undefined;
}
