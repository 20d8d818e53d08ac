import { type ChildProcess, fork } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { encodeGuardianMessage } from '../../src/cluster/dead-children/guardian-messages.js';
import {
  GuardianLink,
  type ParentChannel,
  registerWithGuardian,
} from '../../src/cluster/dead-children/register-with-guardian.js';
import type { SessionGuardianOptions } from '../../src/cluster/dead-children/session-guardian.js';
import { type CleanupReport, SessionGuardian } from '../../src/cluster/dead-children/session-guardian.js';
import { LeaderElector } from '../../src/election/leader-elector.js';
import { parseRecord } from '../../src/election/record/election-record.js';
import type { Term } from '../../src/election/term/term.js';
import { InvalidOptionError, InvalidStateError } from '../../src/errors.js';
import { DistributedLock } from '../../src/lock/distributed-lock.js';
import { ignore } from '../../src/platform/async/promises.js';
import { forEachServer } from '../conformance/support/servers.js';
import { candidateNodes } from '../support/conclave/electors.js';
import { connectString, openSession, uniquePath } from '../support/conclave/sessions.js';
import { eventAfter, nextEvent } from '../support/events.js';
import { startProxy } from '../support/faults/start-proxy.js';
import { recordingLogger } from '../support/recording-logger.js';
import { endsWithTest } from '../support/vitest/test-end.js';
import { until } from '../support/waiting.mjs';

const FIXTURE = join(import.meta.dirname, '../fixtures/guarded-child.mjs');
/** It runs a program in a child of its own, and passes messages on between that and its parent. */
const WRAPPER = join(import.meta.dirname, '../../node_modules/.bin/tsx');

function forkOne(path: string, options: object = {}, connect = connectString()): ChildProcess {
  const child = fork(FIXTURE, [connect, path, JSON.stringify(options)]);
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

function makeGuardian(options: Partial<SessionGuardianOptions> = {}): SessionGuardian {
  return endsWithTest(new SessionGuardian({ connect: connectString(), ...options }));
}

/** Resolves with the child's next message that has this property. */
function messageWith(child: ChildProcess, what: string): Promise<Record<string, unknown>> {
  return new Promise((resolve) => {
    const onMessage = (message: object) => {
      if (!(what in message)) return;
      child.off('message', onMessage);
      resolve(message as Record<string, unknown>);
    };
    child.on('message', onMessage);
  });
}

/** Guards a process, and waits until that leads. */
async function watchLeader(guardian: SessionGuardian, child: ChildProcess): Promise<void> {
  const leads = messageWith(child, 'elected');
  guardian.watch(child);
  await leads;
}

/** Starts a process that leads, and waits until the guardian knows that it does. */
async function guardLeader(guardian = makeGuardian(), options: object = {}, connect = connectString()) {
  const path = uniquePath('guarded');
  const child = forkOne(path, options, connect);
  await watchLeader(guardian, child);
  await until(() => guardian.roleOf(child) === 'leading');
  return { path, guardian, child };
}

/** Starts the next candidate, in this process. */
async function nextInLine(path: string): Promise<LeaderElector> {
  const elector = endsWithTest(new LeaderElector(await openSession({ sessionTimeoutMs: 10_000 }), path));
  await eventAfter(elector, 'waiting', () => elector.start());
  return elector;
}

const ENDS: [string, (child: ChildProcess) => void][] = [
  ['killed', (child) => child.kill('SIGKILL')],
  ['terminated', (child) => child.kill('SIGTERM')],
  ['that ended itself', (child) => child.send('exit')],
];

describe('a guardian', () => {
  const auth = { scheme: 'digest', credentials: 'alice:secret' };
  const session = { sessionTimeoutMs: 10_000, auth };

  it.each(ENDS)(
    'gives back at once what a leader led that was %s',
    async (_, end) => {
      const { path, guardian, child } = await guardLeader();
      const elected = nextEvent<[Term]>(await nextInLine(path), 'elected');
      const cleanedUp = nextEvent<[CleanupReport]>(guardian, 'cleanedUp');
      end(child);
      const [term] = await elected;
      // The session timeout is 10 s, and the takeover delay 3.5 s. If the candidate had waited for either, the report would differ.
      expect(term.number).toBe(2);
      const [report] = await cleanedUp;
      expect(report).toMatchObject({ pid: child.pid, sessions: [{ terms: 1, clean: true }] });
      expect(report.tookMs).toBeLessThan(3000);
    },
    9000,
  );

  it('frees the locks of a process that has ended', async () => {
    const { child } = await guardLeader();
    const locked = uniquePath('lock');
    const holds = messageWith(child, 'locked');
    child.send(`lock ${locked}`);
    await holds;
    const waiting = new DistributedLock(await openSession(), locked).acquire();
    child.kill('SIGKILL');
    await (await waiting).release();
  }, 9000);

  it('does nothing to a process that has closed its channel, until that has ended', async () => {
    const { path, child } = await guardLeader();
    const session = await openSession();
    await eventAfter(child, 'disconnect', () => child.send('disconnect'));
    const elector = await nextInLine(path);
    const elected = nextEvent<[Term]>(elector, 'elected');
    expect(elector.state.name).toBe('waiting');
    const leader = await elector.leader();
    expect(leader?.id).toContain(`-${child.pid}-`);
    expect(await candidateNodes(session, path)).toHaveLength(2);
    child.kill('SIGKILL');
    expect((await elected)[0].number).toBe(2);
  }, 9000);

  it('does nothing to a process that is stopped', async () => {
    const { path, guardian, child } = await guardLeader();
    const cleanedUp: CleanupReport[] = [];
    guardian.on('cleanedUp', (report) => void cleanedUp.push(report));
    child.kill('SIGSTOP');
    const elector = await nextInLine(path);
    expect((await elector.leader())?.id).toContain(`-${child.pid}-`);
    child.kill('SIGCONT');
    const resigned = messageWith(child, 'demoted');
    child.send('resign');
    await resigned;
    expect(cleanedUp).toEqual([]);
  }, 9000);

  it('does nothing to a leader that lives on behind a wrapper when the wrapper was killed, and says so', async () => {
    const path = uniquePath('guarded');
    const guardian = makeGuardian();
    const cleanedUp: CleanupReport[] = [];
    const errors: Error[] = [];
    guardian
      .on('cleanedUp', (report) => void cleanedUp.push(report))
      .on('error', (error) => void errors.push(error));
    const wrapper = fork(FIXTURE, [connectString(), path], { execPath: WRAPPER, execArgv: [] });
    onTestFinished(() => void wrapper.kill('SIGKILL'));
    const { pid } = await messageWith(wrapper, 'pid');
    onTestFinished(() => void process.kill(pid as number, 'SIGKILL'));
    expect(pid).not.toBe(wrapper.pid);
    await watchLeader(guardian, wrapper);
    await until(() => errors.length > 0 || guardian.roleOf(wrapper) === 'leading');
    const elector = await nextInLine(path);
    await eventAfter(wrapper, 'exit', () => wrapper.kill('SIGKILL'));
    await guardian.close(); // The guardian has done all that it does about the death.
    expect(cleanedUp).toEqual([]);
    expect((await elector.leader())?.id).toContain(`-${pid}-`);
    expect(errors.map(({ message }) => message)).toEqual([
      expect.stringMatching(`^the process ${wrapper.pid} passes on the messages of process ${pid}, `),
    ]);
  }, 20_000);

  it('leaves a term alone that was given back, whatever it heard last', async () => {
    const { path, guardian, child } = await guardLeader();
    const elected = nextEvent<[Term]>(await nextInLine(path), 'elected');
    // From here on the guardian hears nothing from the child.
    const disconnected = nextEvent(child, 'disconnect');
    child.send('resign');
    child.send('disconnect');
    await disconnected;
    const [term] = await elected;
    await eventAfter<[CleanupReport]>(guardian, 'cleanedUp', () => child.kill('SIGKILL'));
    expect(term.isHeld()).toBe(true);
    const { data, stat } = await (await openSession()).getData(path);
    expect(parseRecord(data, stat.version)).toMatchObject({ state: 'held', term: 2 });
  }, 9000);

  it('hears of a supervisor that was started long after the process', async () => {
    const path = uniquePath('guarded');
    const guardian = makeGuardian();
    const proxy = await startProxy();
    proxy.cut();
    const child = forkOne(path, {}, proxy.connectString);
    guardian.watch(child);
    const leads = messageWith(child, 'elected');
    // The child listens for messages of its own before it has a session to register. Therefore this message is lost.
    await messageWith(child, 'greeted');
    proxy.restore();
    await leads;
    await until(() => guardian.roleOf(child) === 'leading');
  }, 15_000);

  it('hears nothing of a process that does not want to be guarded', async () => {
    const path = uniquePath('guarded');
    const guardian = makeGuardian();
    const child = forkOne(path, { guardian: false });
    await watchLeader(guardian, child);
    const elector = await nextInLine(path);
    expect(guardian.roleOf(child)).toBe('none');
    await eventAfter(child, 'exit', () => child.kill('SIGKILL'));
    expect((await elector.leader())?.id).toContain(`-${child.pid}-`);
  }, 9000);

  it('that was closed guards nothing, and lets the children be', async () => {
    const { path, guardian, child } = await guardLeader();
    const before = child.listenerCount('message');
    await guardian.close();
    expect(child.listenerCount('message')).toBe(before - 1);
    expect(child.listenerCount('exit')).toBe(0);
    expect(() => guardian.watch(child)).toThrow(InvalidStateError);
    const elector = await nextInLine(path);
    await eventAfter(child, 'exit', () => child.kill('SIGKILL'));
    expect((await elector.leader())?.id).toContain(`-${child.pid}-`);
  }, 9000);

  it('closes the session without the credentials for what was led, and says why the rest was left', async () => {
    const { lines, logger } = recordingLogger();
    const { path, guardian, child } = await guardLeader(makeGuardian({ logger }), { session });
    const alice = await openSession({ auth });
    const [node] = await candidateNodes(alice, path);
    const owner = (await alice.exists(`${path}/${node}`))?.ephemeralOwner as bigint;
    const cleanedUp = nextEvent<[CleanupReport]>(guardian, 'cleanedUp');
    const failed = nextEvent<[Error]>(guardian, 'error');
    child.kill('SIGKILL');
    const [report] = await cleanedUp;
    expect(report.sessions).toMatchObject([{ terms: 1, clean: false }]);
    // A session's password follows from its id, so no output may show either.
    const shown = inspect([lines, report, await failed], { depth: 10 });
    expect(shown).toContain(String(child.pid));
    for (const secret of ['secret', owner.toString(16), String(owner)]) expect(shown).not.toContain(secret);
    expect(await alice.getChildren(path)).toEqual([]);
  }, 9000);

  it('gives back what was led with credentials if it has them, below a chroot too', async () => {
    const guardian = makeGuardian({ session: { auth } });
    const { path, child } = await guardLeader(guardian, { session }, `${connectString()}/alices`);
    const kill = () => child.kill('SIGKILL');
    const [report] = await eventAfter<[CleanupReport]>(guardian, 'cleanedUp', kill);
    expect(report.sessions).toMatchObject([{ terms: 1, clean: true }]);
    const alice = await openSession({ auth });
    const { data, stat } = await alice.getData(`/alices${path}`);
    expect(parseRecord(data, stat.version)).toEqual({ state: 'vacant', term: 1 });
  }, 9000);

  it.each([undefined, null, 5, {}, new EventEmitter()])('refuses %j for a child', (child) => {
    const guardian = makeGuardian();
    expect(() => guardian.watch(child as never)).toThrow(InvalidOptionError);
  });

  it.each([
    [undefined, 'guardian'],
    [{}, 'connect'],
    [{ connect: '' }, 'connect'],
    [{ connect: 'zk', port: 5 }, 'guardian.port'],
    [{ connect: 'zk', session: { leaseMs: 5 } }, 'session.leaseMs'],
    [{ connect: 'zk', logger: {} }, 'logger'],
  ])('refuses %j for options', (options, option) => {
    expect(() => new SessionGuardian(options as never)).toThrow(expect.objectContaining({ option }));
  });
});

describe('a guardian of a program that authenticates by SASL, at servers that require it', () => {
  const saslUsers = { worker: 'worker-secret' };
  const sasl = { username: 'worker', password: saslUsers.worker };

  forEachServer(
    (server) => {
      /** Has a guarded leader killed, with a next candidate that is elected within the test only if the term was given back. */
      async function killLeader(
        options: Partial<SessionGuardianOptions>,
        onError: (error: Error) => void = ignore,
      ) {
        const connect = `127.0.0.1:${server.port}`;
        const guardian = makeGuardian({ connect: async () => connect, ...options });
        guardian.on('error', onError);
        const session = { sessionTimeoutMs: 30_000, sasl };
        const { path, child } = await guardLeader(guardian, { session }, connect);
        const elector = new LeaderElector(await openSession({ sasl }, connect), path, {
          takeoverDelayMs: 3_600_000,
        });
        onTestFinished(() => elector.stop());
        await eventAfter(elector, 'waiting', () => elector.start());
        const elected = nextEvent<[Term]>(elector, 'elected');
        elected.catch(ignore);
        const kill = () => child.kill('SIGKILL');
        const [report] = await eventAfter<[CleanupReport]>(guardian, 'cleanedUp', kill);
        return { elector, elected, report };
      }

      it('gives back at once what it led, with a password that a function gives', async () => {
        const { elected, report } = await killLeader({ session: { sasl: async () => sasl } });
        expect((await elected)[0].number).toBe(2);
        expect(report.sessions).toMatchObject([{ terms: 1, clean: true }]);
      });

      it('without the password leaves all to the session timeout, and says why', async () => {
        const failed: Error[] = [];
        const { elector, report } = await killLeader({}, (error) => void failed.push(error));
        expect(report.sessions).toMatchObject([{ clean: false }]);
        expect(failed.map(({ message }) => message)).toEqual([
          expect.stringMatching(
            /^a session of the dead process \d+ was not cleaned up: .*the servers require authentication/,
          ),
        ]);
        expect(elector.state.name).toBe('waiting');
      });
    },
    { saslUsers, requireAuth: ['sasl'] },
  );
});

describe('a process', () => {
  /** The child's end of a channel, without a child. */
  class FakeChannel extends EventEmitter implements ParentChannel {
    connected = true;
    readonly sent: { conclave: Record<string, unknown> }[] = [];
    send(message: object): boolean {
      this.sent.push(message as FakeChannel['sent'][number]);
      return true;
    }
  }
  const attach = encodeGuardianMessage({ kind: 'attach', guardian: 'one' });
  const detach = encodeGuardianMessage({ kind: 'detach', guardian: 'one' });

  it('sends nothing to a parent without an attached guardian', async () => {
    const channel = new FakeChannel();
    const session = await openSession();
    new GuardianLink(channel).register(session);
    expect(channel.sent).toEqual([]);
    channel.emit('message', { something: 'else' });
    expect(channel.sent).toEqual([]);
    channel.emit('message', attach);
    expect(channel.sent.map(({ conclave }) => conclave.kind)).toEqual(['opened']);
    channel.emit('message', detach);
    await session.close();
    expect(channel.sent).toHaveLength(1);
  });

  it('goes on with its reports to one guardian when another one is closed', async () => {
    const channel = new FakeChannel();
    const session = await openSession();
    new GuardianLink(channel).register(session);
    channel.emit('message', encodeGuardianMessage({ kind: 'attach', guardian: 'another' }));
    channel.emit('message', attach);
    channel.emit('message', detach);
    const reported = channel.sent.length;
    await session.close();
    expect(channel.sent.slice(reported).map(({ conclave }) => conclave.kind)).toEqual(['over']);
  });

  it('reports every registered session and election, and listens no longer than there is one', async () => {
    const channel = new FakeChannel();
    const link = new GuardianLink(channel);
    const [first, second] = [await openSession(), await openSession()];
    const path = uniquePath('registered');
    const elector = new LeaderElector(first, path);
    link.register(first, elector);
    link.register(second);
    link.register(second);
    channel.emit('message', attach);
    await eventAfter(elector, 'elected', () => elector.start());
    await elector.stop();
    expect(channel.sent.map(({ conclave }) => conclave.kind)).toEqual(['opened', 'opened', 'leads', 'left']);
    expect(channel.sent[2]).toMatchObject({ conclave: { election: path, deed: { record: path, term: 1 } } });
    await first.close();
    expect(channel.listenerCount('message')).toBe(1);
    await second.close();
    expect(channel.listenerCount('message')).toBe(0);
    expect(channel.sent.slice(4).map(({ conclave }) => conclave.kind)).toEqual(['over', 'over']);
    link.register(second);
    expect(channel.listenerCount('message')).toBe(0);
  });

  it('that has no parent to notify is not disturbed by that', async () => {
    const session = await openSession();
    const channel = new FakeChannel();
    new GuardianLink({ ...channel, connected: false, on: channel.on, off: channel.off } as never).register(
      session,
    );
    registerWithGuardian(session);
    await session.close();
  });
});
