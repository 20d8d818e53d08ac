import { describe, expect, it } from 'vitest';
import { waivesZxid } from '../../../src/session/server-search.js';

describe('the zxid in a handshake', () => {
  it('is shown for longer than an ensemble with a quorum keeps a silent session, and then no more', () => {
    const sessionTimeoutMs = 6000;
    expect(waivesZxid(0, sessionTimeoutMs)).toBe(false);
    expect(waivesZxid(sessionTimeoutMs, sessionTimeoutMs)).toBe(false);
    expect(waivesZxid(1.25 * sessionTimeoutMs, sessionTimeoutMs)).toBe(false);
    expect(waivesZxid(1.25 * sessionTimeoutMs + 1, sessionTimeoutMs)).toBe(true);
  });
});
