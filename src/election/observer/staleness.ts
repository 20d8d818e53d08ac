import type { Timer } from '../../platform/time/clock.js';
import type { Session } from '../../session/session.js';

/**
 * Tells when a session has been without a server for as long as the servers would let it live, which is when nothing
 * that was read with it says anything about now; and when a server serves it again, which may well be: an ensemble
 * that was away as a whole lets its sessions live on.
 *
 * @returns what takes that back
 */
export function onStale(session: Session, silent: () => void, heard: () => void): () => void {
  let timer: Timer | undefined;
  const onSuspended = () => {
    timer = session.clock.after(session.sessionTimeoutMs, silent, { background: true });
  };
  const onResumed = () => {
    timer?.clear();
    heard();
  };
  session.on('suspended', onSuspended).on('resumed', onResumed);
  if (session.state.name === 'suspended') onSuspended();
  return () => {
    timer?.clear();
    session.off('suspended', onSuspended).off('resumed', onResumed);
  };
}
