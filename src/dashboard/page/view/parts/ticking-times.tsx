import { memo } from 'preact/compat';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { LeaderView } from '../../../api-types.js';
import { heartbeatOf } from '../../model/apply-change.js';
import { usePage, useTicks } from '../page-context.js';

/** Text that changes with time. Only the text node changes then. The page draws nothing again. */
export function Ticking({ text }: { text: (now: number) => string }) {
  const { store } = usePage();
  const span = useRef<HTMLSpanElement>(null);
  const current = () => text(store.now());
  useTicks(() => {
    const letters = span.current?.firstChild;
    const next = current();
    if (letters instanceof Text && letters.data !== next) letters.data = next;
  });
  return <span ref={span}>{current()}</span>;
}

const SHRINKING = [{ transform: 'scaleX(1)' }, { transform: 'scaleX(0)' }];

/**
 * The rest of a leader's lease as a bar that shrinks. The browser's compositor moves the bar. A script runs only at a heartbeat,
 * to set the bar's length.
 */
export const LeaseBar = memo(({ path, leader }: { path: string; leader: LeaderView }) => {
  const { store } = usePage();
  const bar = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = bar.current as HTMLDivElement;
    const { leaseMs } = leader;
    const easing = matchMedia('(prefers-reduced-motion: reduce)').matches ? 'steps(8)' : 'linear';
    const animation = element.animate(SHRINKING, { duration: leaseMs, fill: 'both', easing });
    let shown = '';
    const show = () => {
      const { model, isLive } = store;
      const at = model === undefined ? leader.heartbeatAt : heartbeatOf(model, path, leader);
      if (shown === `${at} ${isLive}`) return;
      shown = `${at} ${isLive}`;
      element.hidden = at === null;
      const elapsed = Math.min(leaseMs, Math.max(0, store.now() - (at ?? 0)));
      if (isLive && elapsed < leaseMs) animation.play();
      else animation.pause();
      animation.currentTime = elapsed;
    };
    show();
    const end = store.heartbeats.add(show);
    return () => {
      end();
      animation.cancel();
    };
  }, [store, path, leader]);
  return (
    <div class="lease" aria-hidden="true">
      <div class="lease-rest" ref={bar} />
    </div>
  );
});
