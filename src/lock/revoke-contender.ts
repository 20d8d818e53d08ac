import { NoNodeError } from '../errors.js';
import type { Abortable } from '../platform/async/lazy-abort.js';
import { abortable, anyAbort } from '../platform/async/promises.js';
import { isOwnerless } from '../queue/ownerless-nodes.js';
import { untilGone } from '../queue/predecessor-watch.js';
import type { Session } from '../session/session.js';
import { checkRevokeOptions, type Lock, type QueuedContender, type RevokeOptions, tooLate } from './lock.js';
import { REVOKE } from './lock-grant.js';

/** Asks a contender of a lock to release it. @throws as {@link QueueLock.revoke} does */
export async function revokeContender(
  lock: Pick<Lock, 'path' | 'contenders'> & { readonly session: Session },
  options: RevokeOptions | undefined,
): Promise<QueuedContender | undefined> {
  const { node, timeoutMs, signal } = checkRevokeOptions(options);
  signal?.throwIfAborted();
  const { session, path } = lock;
  const { controller, unsubscribe } = anyAbort(signal);
  const timer =
    timeoutMs === undefined
      ? undefined
      : session.clock.after(timeoutMs, () => controller.abort(tooLate(lock, 'given up', timeoutMs)));
  try {
    const contenders = await abortable(lock.contenders(), controller);
    for (const contender of contenders) {
      if (node !== undefined && contender.node !== node) continue;
      if (await revoke(session, path, contender.node, controller)) return contender;
    }
    return undefined;
  } finally {
    timer?.clear();
    unsubscribe();
  }
}

/** Writes the request and waits until the node is gone. `false` if the node is ownerless, and so no contender's. */
async function revoke(session: Session, queue: string, name: string, signal: Abortable): Promise<boolean> {
  const path = `${queue}/${name}`;
  try {
    const stat = await session.retryUntilAnswered(() => session.exists(path), signal);
    if (stat !== undefined && isOwnerless(session, queue, name, stat)) return false;
    await session.retryUntilAnswered(() => session.setData(path, REVOKE), signal);
    await untilGone(session, queue, name, signal);
  } catch (error) {
    if (!(error instanceof NoNodeError)) throw error;
  }
  return true;
}
