import { GuardedProcess } from '../../src/cluster/dead-children/guarded-process.js';
import { SessionGuardian } from '../../src/cluster/dead-children/session-guardian.js';
import { LeaderElector } from '../../src/election/leader-elector.js';
import { sleep } from '../../src/platform/time/clock.js';
import { Connection } from '../../src/session/connection/connection.js';
import { Session } from '../../src/session/session.js';
import { findEach, replace, type Wrong } from './wrong.js';

const WRONG: readonly Wrong[] = [
  {
    what: 'an observer that shows a leader for as long as it has no server',
    hint: 14,
    found: /^observer: .* whose term ended \d+ ms ago/,
    faultRate: 'few',
    make: () =>
      replace(Session.prototype, 'on', (right) => {
        return function (this: Session, event, listener) {
          return listener.name === 'onSuspended' ? this : right.call(this, event, listener);
        } as Session['on'];
      }),
  },
  {
    what: 'a session that insists on what it has seen when the ensemble has lost its data',
    hint: 72,
    found: /^session: .* neither served nor over/,
    faultRate: 'few',
    make: () => {
      const seen = new Map<bigint, bigint>();
      return replace(Connection, 'open', (right) => (server, transport, handshake, ...more) => {
        const lastZxid = handshake.lastZxid || seen.get(handshake.id) || 0n;
        seen.set(handshake.id, lastZxid);
        return right.call(Connection, server, transport, { ...handshake, lastZxid }, ...more);
      });
    },
  },
  {
    what: 'a guardian that cleans nothing up',
    hint: 8,
    found: /^guardian: no candidate took the place/,
    faultRate: 'few',
    make: () => replace(GuardedProcess.prototype, 'openSessions', () => () => []),
  },
  {
    what: 'a guardian that cleans up after a process that lives',
    hint: 5,
    found: /^live session taken/,
    faultRate: 'few',
    make: () =>
      replace(SessionGuardian.prototype, 'watch', (right) => {
        return function (this: SessionGuardian, child) {
          right.call(this, child);
          if ('once' in child) child.once('message', () => child.emit('exit'));
        };
      }),
  },
  {
    what: 'an elector that takes too long to stop',
    hint: 4,
    found: /^stop: process-\d+ took/,
    make: () =>
      replace(LeaderElector.prototype, 'stop', (right) => {
        return async function (this: LeaderElector) {
          await sleep(this.session.clock, 2 * this.session.sessionTimeoutMs);
          await right.call(this);
        };
      }),
  },
  {
    what: 'a session that goes on when it was closed',
    hint: 1,
    found: /^leftovers: of a process that stopped/,
    make: () => replace(Session.prototype, 'close', () => () => Promise.resolve()),
  },
];

findEach(WRONG);
