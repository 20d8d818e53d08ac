import type { Timer } from '../../platform/time/clock.js';
import type { Session } from '../session.js';

/**
 * Reports when the session has had no server for a session timeout, after which nothing it has read can be trusted; and when
 * it is served again: an ensemble that was away as a whole lets its sessions live on. Returns what unsubscribes.
 */
export function onStale(session: Session, stale: () => void, resumed: () => void): () => void {
  let timer: Timer | undefined;
  const onSuspended = () => {
    timer = session.clock.after(session.sessionTimeoutMs, stale, { background: true });
  };
  const onResumed = () => {
    timer?.clear();
    resumed();
  };
  session.on('suspended', onSuspended).on('resumed', onResumed);
  if (session.state.name === 'suspended') onSuspended();
  return () => {
    timer?.clear();
    session.off('suspended', onSuspended).off('resumed', onResumed);
  };
}
