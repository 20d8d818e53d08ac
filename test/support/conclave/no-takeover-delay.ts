import type { KnownRecord } from '../../../src/election/decide-next-step.js';
import { LeaderMonitor } from '../../../src/election/leader-monitor.js';

/**
 * Takes the takeover delay away after an unclean end, for all candidates of this process: no option does so. Returns what gives it back.
 */
export function takeAwayTakeoverDelay(): () => void {
  const right = Object.getOwnPropertyDescriptor(LeaderMonitor.prototype, 'known') as PropertyDescriptor;
  Object.defineProperty(LeaderMonitor.prototype, 'known', {
    configurable: true,
    get(this: LeaderMonitor): KnownRecord {
      const known = right.get?.call(this) as KnownRecord;
      if (known.holder.name !== 'gone') return known;
      return { ...known, holder: { name: 'gone', since: Number.NEGATIVE_INFINITY } };
    },
  });
  return () => Object.defineProperty(LeaderMonitor.prototype, 'known', right);
}
