import { describe, expect, it } from 'vitest';
import { leaderHealth } from '../../../src/nestjs/leader-health.js';

const WAITS = { live: true, ready: false, reasons: ['no server for 12 ms'] };

describe('leaderHealth()', () => {
  it('is up while the supervisor is live, or ready, and says why not', () => {
    const supervisor = { id: 'one', health: () => WAITS };
    expect(leaderHealth(supervisor, 'live')()).toEqual({ conclave: { status: 'up', ...WAITS } });
    expect(leaderHealth(supervisor, 'ready', 'reports')()).toEqual({ reports: { status: 'down', ...WAITS } });
  });

  it('refuses what is no supervisor, a question that there is not, and a key that is no name', () => {
    const supervisor = { id: 'one', health: () => WAITS };
    expect(() => leaderHealth({} as never, 'live')).toThrow('supervisor is an object');
    expect(() => leaderHealth(supervisor, 'well' as never)).toThrow('which is "well": expected \'live\' or');
    expect(() => leaderHealth(supervisor, undefined as never)).toThrow('which is undefined');
    expect(() => leaderHealth(supervisor, 'live', '')).toThrow('key is "": expected');
  });
});
