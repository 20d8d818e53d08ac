import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { systemEnvironment } from '../../../../src/platform/injected-environment.js';
import { resolveLogger } from '../../../../src/platform/logging/logger.js';
import { Outage } from '../../../../src/session/connection/outage.js';
import { connectSource, shuffled } from '../../../../src/session/connection/server-list.js';
import {
  handshakeTimeoutMs,
  inTurn,
  pauseMs,
  ServerRounds,
} from '../../../../src/session/connection/server-rounds.js';
import { openTransport } from '../../../../src/session/connection/tcp-and-tls.js';
import { NEW_SESSION } from '../../../../src/session/protocol/requests.js';
import { TestClock } from '../../../../src/testing/controls/test-clock.js';

describe('looking for a server', () => {
  it('pauses between rounds, longer each time up to a second, never at the same moment as others', () => {
    expect([1, 2, 3, 4, 5, 6, 20].map((round) => pauseMs(round, 1))).toEqual([
      50, 100, 200, 400, 800, 1000, 1000,
    ]);
    expect(pauseMs(6, 0)).toBe(500);
  });

  it('gives every server its turn within a third of the session timeout in the first round', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 7 }),
        fc.integer({ min: 4200, max: 60_000 }),
        (servers, sessionTimeoutMs) => {
          expect(servers * handshakeTimeoutMs(0, servers, sessionTimeoutMs)).toBeLessThanOrEqual(
            sessionTimeoutMs / 3 + 1e-6,
          );
        },
      ),
    );
  });

  it('gives a slow server a third of the session timeout in the end', () => {
    expect(handshakeTimeoutMs(10, 5, 6000)).toBe(2000);
    expect(handshakeTimeoutMs(0, 1, 20_000)).toBe(1000);
  });

  it('opened one more connection when it was asked to give up between two (closing took longer than 2 s)', async () => {
    let sockets = 0;
    const opened = () => {
      sockets++;
      throw new Error('no network');
    };
    const environment = { ...systemEnvironment, clock: new TestClock(), openSocket: opened };
    const rounds = new ServerRounds({
      connect: connectSource('127.0.0.1:1'),
      sources: [],
      environment,
      open: (endpoint) => openTransport(endpoint, environment, undefined),
      logger: resolveLogger(undefined),
      outage: new Outage(),
      onTried: () => undefined,
    });
    const handshake = { ...NEW_SESSION, timeoutMs: 3000 };
    const dialling = rounds.dial(
      () => handshake,
      { notified: () => undefined, connectionEnded: () => undefined },
      () => true,
      AbortSignal.abort('enough'),
    );
    await expect(dialling).rejects.toBe('enough');
    expect(sockets).toBe(0);
    expect(environment.clock.timerCount).toBe(0);
  });

  it('tries all addresses of a server: the preferred family first, the last one tried last', () => {
    const found = ['10.0.0.1', '10.0.0.2', '::1', '10.0.0.3', '::2', '10.0.0.2'];
    for (let chance = 0; chance < 1; chance += 0.05) {
      const order = inTurn(found, '10.0.0.2', () => chance);
      expect([...order].sort()).toEqual([...new Set(found)].sort());
      expect(order.slice(0, 2).every((address) => address.startsWith('10.'))).toBe(true);
      expect(order.at(-1)).toBe('10.0.0.2');
    }
    expect(inTurn([], '10.0.0.2', Math.random)).toEqual([]);
  });

  it('begins at another server in each client, with every server once', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.nat()),
        fc.infiniteStream(fc.double({ min: 0, max: 1 - 1e-9, noNaN: true })),
        (servers, chance) => {
          const random = () => chance.next().value as number;
          expect(shuffled(servers, random).sort()).toEqual([...servers].sort());
        },
      ),
    );
    const firsts = new Set(Array.from({ length: 200 }, () => shuffled(['a', 'b', 'c'], Math.random)[0]));
    expect(firsts.size).toBe(3);
  });
});
