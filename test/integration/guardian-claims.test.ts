import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { cleanUpSession } from '../../src/cluster/dead-children/give-back-terms.js';
import { openSessionOf } from '../../src/cluster/dead-children/guarded-process.js';
import {
  type ChildMessage,
  encodeChildMessage,
  sessionName,
} from '../../src/cluster/dead-children/guardian-messages.js';
import { type CleanupReport, SessionGuardian } from '../../src/cluster/dead-children/session-guardian.js';
import { LeaderElector } from '../../src/election/leader-elector.js';
import { parseRecord, serializeRecord } from '../../src/election/record/election-record.js';
import type { ReleasableClaim, Term } from '../../src/election/term/term.js';
import { connectSource } from '../../src/session/connection/server-list.js';
import type { Session } from '../../src/session/session.js';
import { connectString, openSession, uniquePath } from '../support/conclave/sessions.js';
import { aborted, errorsOf, eventAfter, nextEvent } from '../support/events.js';
import { endsWithTest } from '../support/vitest/test-end.js';
import { until } from '../support/waiting.mjs';

const alice = { scheme: 'digest', credentials: 'alice:wonder' };
const OPEN = [{ scheme: 'world', id: 'anyone', permissions: 31 }];
const MAY_JOIN = [
  { scheme: 'world', id: 'anyone', permissions: 1 | 4 },
  { scheme: 'auth', id: '', permissions: 31 },
];

const name = (number: number) => `_c_01234567-89ab-cdef-0123-456789abcdef-lock-000000000${number}`;

function held(node: string, term: number): Buffer {
  return serializeRecord({ state: 'held', term, id: 'x', node, leaseMs: 1000 });
}

function makeGuardian(): SessionGuardian {
  return endsWithTest(new SessionGuardian({ connect: connectString(), session: { auth: alice } }));
}

/** Starts a guardian with alice's credentials, and a child whose reports the test chooses. */
async function guardLiar(guardian = makeGuardian()): Promise<{
  guardian: SessionGuardian;
  child: ChildProcess;
  errors: Error[];
  say(message: ChildMessage): void;
  dies(): Promise<CleanupReport>;
}> {
  const errors = errorsOf(guardian);
  const child = fork(join(import.meta.dirname, '../fixtures/echo-to-parent.mjs'));
  onTestFinished(() => void child.kill('SIGKILL'));
  await nextEvent(child, 'message');
  guardian.watch(child);
  return {
    guardian,
    child,
    errors,
    say: (message) => void child.send({ say: encodeChildMessage({ pid: child.pid as number, message }) }),
    dies: async () => {
      const cleanedUp = nextEvent<[CleanupReport]>(guardian, 'cleanedUp');
      child.kill('SIGKILL');
      return (await cleanedUp)[0];
    },
  };
}

function opened(session: Session, timeoutMs = session.sessionTimeoutMs): ChildMessage {
  const { credentials } = session;
  return { kind: 'opened', session: sessionName(credentials.id), credentials, timeoutMs };
}

function leads(session: Session, claim: ReleasableClaim): ChildMessage {
  return { kind: 'leads', session: sessionName(session.credentials.id), election: claim.record, claim };
}

/** Lets the child report that it led here with mallory's session, and die. */
async function tryToHave(
  mallory: Session,
  claim: ReleasableClaim,
): Promise<{ report: CleanupReport; errors: Error[] }> {
  const liar = await guardLiar();
  liar.say(opened(mallory));
  liar.say(leads(mallory, claim));
  await until(() => liar.guardian.roleOf(liar.child) === 'leading');
  return { report: await liar.dies(), errors: liar.errors };
}

async function leadAs(session: Session, path: string): Promise<{ term: Term; node: string }> {
  const elector = endsWithTest(new LeaderElector(session, path));
  const [term] = await eventAfter<[Term]>(elector, 'elected', () => elector.start());
  return { term, node: elector.claim?.node as string };
}

describe('a guardian that is sent a claim to something that the dead process did not lead', () => {
  it('neither overwrites nor deletes what only its own credentials may touch, and says so', async () => {
    const [owner, mallory] = [await openSession({ auth: alice }), await openSession()];
    const [secret, victim] = [uniquePath('secret'), uniquePath('victim')];
    await owner.create(secret, { data: Buffer.from('precious') });
    await owner.create(victim);
    const { report, errors } = await tryToHave(mallory, {
      record: secret,
      version: 0,
      term: 6,
      node: victim,
    });
    expect(report.sessions).toMatchObject([{ terms: 1, clean: false }]);
    expect(String((await owner.getData(secret)).data)).toBe('precious');
    expect(await owner.exists(victim)).toBeDefined();
    expect(errors).toHaveLength(1);
    for (const part of [secret, victim, 'nothing was written']) expect(errors[0]?.message).toContain(part);
    await aborted(mallory.signal); // The session is closed all the same.
  });

  it('leaves a record that is not one of the election in which the process has a node', async () => {
    const [owner, mallory] = [await openSession({ auth: alice }), await openSession()];
    const [secret, open] = [uniquePath('secret'), uniquePath('open')];
    await mallory.create(open, { access: OPEN });
    const node = `${open}/${name(0)}`;
    await mallory.create(node, { mode: 'ephemeral' });
    await owner.create(secret, { data: held(name(0), 3) });
    const { errors } = await tryToHave(mallory, { record: secret, version: 0, term: 3, node });
    expect((await owner.getData(secret)).stat.version).toBe(0);
    expect(errors).toHaveLength(1);
  });

  it.each([
    ['that is not an election’s', Buffer.from('precious')],
    ['that another node holds', held(name(1), 3)],
    ['of another term', held(name(0), 2)],
    ['that is vacant', serializeRecord({ state: 'vacant', term: 3 })],
  ])('leaves a record %s, though the process has a node below it', async (_, data) => {
    const [owner, mallory] = [await openSession({ auth: alice }), await openSession()];
    const path = uniquePath('secret');
    await owner.create(path, { data, access: MAY_JOIN });
    const node = `${path}/${name(0)}`;
    await mallory.create(node, { mode: 'ephemeral' });
    const { report, errors } = await tryToHave(mallory, { record: path, version: 0, term: 3, node });
    expect((await owner.getData(path)).data).toEqual(data);
    expect(report.sessions).toMatchObject([{ clean: false }]);
    expect(errors).toHaveLength(1);
  });

  it('leaves the term of a leader with another session', async () => {
    const [owner, mallory] = [await openSession({ auth: alice }), await openSession()];
    const path = uniquePath('election');
    await owner.create(path, { access: MAY_JOIN });
    const { term, node } = await leadAs(owner, path);
    const { version } = (await owner.getData(path)).stat;
    const { errors } = await tryToHave(mallory, { record: path, version, term: term.number, node });
    expect(term.isHeld()).toBe(true);
    expect(await owner.exists(node)).toBeDefined();
    expect(parseRecord((await owner.getData(path)).data, version).state).toBe('held');
    expect(errors).toHaveLength(1);
  });

  it('says nothing of a term that has ended since: the child had no time to report it', async () => {
    const [owner, mallory] = [await openSession({ auth: alice }), await openSession()];
    const path = uniquePath('election');
    await owner.create(path, { data: serializeRecord({ state: 'vacant', term: 3 }) });
    const claim = { record: path, version: 1, term: 3, node: `${path}/${name(0)}` };
    const { report, errors } = await tryToHave(mallory, claim);
    expect(report.sessions).toMatchObject([{ clean: false }]);
    expect(errors).toEqual([]);
  });

  it('does not close the session of another process that it guards', async () => {
    const guardian = makeGuardian();
    const [first, second] = [await guardLiar(guardian), await guardLiar(guardian)];
    const session = await openSession();
    const claim: ChildMessage = {
      kind: 'waits',
      session: sessionName(session.credentials.id),
      election: '/e',
    };
    for (const word of [opened(session), claim]) first.say(word);
    await until(() => guardian.roleOf(first.child) === 'waiting');
    const refused = nextEvent<[Error]>(guardian, 'error');
    for (const word of [opened(session), claim]) second.say(word);
    expect((await refused)[0].message).toContain(`${second.child.pid}`);
    expect(guardian.roleOf(second.child)).toBe('none');
    await eventAfter(second.child, 'exit', () => second.child.kill('SIGKILL'));
    await guardian.close(); // The guardian has done all that it does about the death.
    expect(session.state.name).toBe('connected');
  });

  it('remembers no more sessions of one process than it has any use for, and says so once', async () => {
    const { guardian, child, errors, say } = await guardLiar();
    const credentials = { id: 0n, password: Buffer.alloc(16) };
    const many = Array.from({ length: 300 }, (_, index) => BigInt(index + 1));
    for (const id of many)
      say({ kind: 'opened', session: sessionName(id), credentials: { ...credentials, id }, timeoutMs: 5000 });
    say({ kind: 'waits', session: sessionName(1n), election: '/e' });
    await until(() => guardian.roleOf(child) === 'waiting');
    expect(errors).toHaveLength(1);
    expect(errors[0]?.message).toContain('256 sessions');
    for (const id of many) say({ kind: 'over', session: sessionName(id) });
    await until(() => guardian.roleOf(child) === 'none');
  });
});

describe('a term of a dead process', () => {
  it('is given back also when its node was written since', async () => {
    const session = await openSession({ auth: alice });
    const observer = await openSession({ auth: alice });
    const path = uniquePath('election');
    const { term, node } = await leadAs(session, path);
    await observer.setData(node, Buffer.from('written'));
    const open = openSessionOf(session, term);
    const outcome = await cleanUpSession(connectSource(connectString()), open, { auth: alice });
    expect(outcome).toEqual({ terms: 1, members: 0, clean: true });
    const { data, stat } = await observer.getData(path);
    expect(parseRecord(data, stat.version)).toEqual({ state: 'vacant', term: 1 });
    expect(await observer.exists(node)).toBeUndefined();
  });
});
