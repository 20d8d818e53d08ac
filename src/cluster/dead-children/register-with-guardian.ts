import { LeaderElector } from '../../election/leader-elector.js';
import { onAbort } from '../../platform/async/lazy-abort-controller.js';
import { ignore } from '../../platform/async/promises.js';
import { checkInstance } from '../../platform/checks.js';
import { Session } from '../../session/session.js';
import { absoluteClaim } from './guarded-process.js';
import {
  type ChildMessage,
  decodeGuardianMessage,
  encodeChildMessage,
  sessionName,
} from './guardian-messages.js';

/** The end of the channel to the parent process: that of `process`, if this process was forked. */
export interface ParentChannel {
  readonly connected: boolean;
  send?(message: object, callback: (error: Error | null) => void): boolean;
  on(event: 'message', listener: (message: unknown) => void): unknown;
  off(event: 'message', listener: (message: unknown) => void): unknown;
}

/**
 * This process's link to a guardian in its parent. It sends nothing before the guardian has attached: a parent without a guardian
 * must not get messages that it doesn't understand, least of all a session's password.
 */
export class GuardianLink {
  readonly #channel: ParentChannel;
  readonly #sessions = new Map<Session, RegisteredSession>();
  readonly #guardians = new Set<string>();
  #listeners = 0;

  constructor(channel: ParentChannel) {
    this.#channel = channel;
  }

  /** Whether a guardian in the parent process has attached: then the parent ends this process, in the order that it chooses. */
  get isGuarded(): boolean {
    return this.#guardians.size > 0 && this.#channel.connected;
  }

  /**
   * Hears of guardians until the returned function is called. Also to be called with any other listener for the parent's messages: Node keeps
   * messages only until there is a first listener, and the next greeting of a guardian may come late.
   */
  listen(): () => void {
    // Only while there is something to guard, or another listener: a listener for messages keeps a forked process alive.
    if (this.#listeners++ === 0) this.#channel.on('message', this.#onMessage);
    return () => {
      if (--this.#listeners === 0) this.#channel.off('message', this.#onMessage);
    };
  }

  /** Reports a session to the guardian until the session has ended, and what an elector does with it. */
  register(session: Session, elector?: LeaderElector): void {
    if (this.#channel.send === undefined || session.ended.aborted) return; // There is no parent, or nothing to guard.
    let registered = this.#sessions.get(session);
    if (registered === undefined) {
      registered = new RegisteredSession(session);
      this.#add(session, registered);
    }
    if (elector !== undefined) this.#follow(registered, elector);
  }

  /** Reports that the session is a member of a group of shards, until it isn't. @returns what ends that */
  belong(session: Session, group: string, node: string): () => void {
    const registered = this.#sessions.get(session);
    if (registered === undefined) return ignore;
    this.#send(registered.belongs(group, node));
    return () => this.#send(registered.gone(group));
  }

  #add(session: Session, registered: RegisteredSession): void {
    const unlisten = this.listen();
    this.#sessions.set(session, registered);
    for (const message of registered.messages()) this.#send(message);
    onAbort(session.ended, () => {
      this.#sessions.delete(session);
      this.#send({ kind: 'over', session: registered.name });
      unlisten();
    });
  }

  #follow(registered: RegisteredSession, elector: LeaderElector): void {
    elector
      .on('waiting', () => this.#send(registered.waits(elector)))
      .on('elected', () => this.#send(registered.leads(elector)))
      .on('stopped', () => this.#send(registered.left(elector)));
  }

  readonly #onMessage = (received: unknown): void => {
    const message = decodeGuardianMessage(received);
    if (message === undefined) return;
    if (message.kind === 'detach') return void this.#guardians.delete(message.guardian);
    this.#guardians.add(message.guardian);
    for (const registered of this.#sessions.values()) {
      for (const each of registered.messages()) this.#send(each);
    }
  };

  #send(message: ChildMessage | undefined): void {
    if (message === undefined || !this.isGuarded) return;
    this.#channel.send?.(encodeChildMessage({ pid: process.pid, message }), ignore); // A guardian that is gone guards nothing.
  }
}

/** One session, and the roles of its electors. */
class RegisteredSession {
  readonly name: string;
  readonly #session: Session;
  readonly #roles = new Map<string, ChildMessage>(); // The newest message of each election, and of each group of shards.

  constructor(session: Session) {
    this.#session = session;
    this.name = sessionName(session.credentials.id);
  }

  /** The messages for a guardian that has got none before. */
  messages(): ChildMessage[] {
    const { credentials, sessionTimeoutMs } = this.#session;
    return [
      { kind: 'opened', session: this.name, credentials, timeoutMs: sessionTimeoutMs },
      ...this.#roles.values(),
    ];
  }

  waits(elector: LeaderElector): ChildMessage {
    return this.#keep({ kind: 'waits', session: this.name, election: this.#absolute(elector.path) });
  }

  /** `undefined`: the term has been given back meanwhile. */
  leads(elector: LeaderElector): ChildMessage | undefined {
    const { claim } = elector;
    if (claim === undefined) return undefined;
    return this.#keep({
      kind: 'leads',
      session: this.name,
      election: this.#absolute(elector.path),
      claim: absoluteClaim(this.#session, claim),
    });
  }

  left(elector: LeaderElector): ChildMessage {
    const election = this.#absolute(elector.path);
    this.#roles.delete(election);
    return { kind: 'left', session: this.name, election };
  }

  belongs(group: string, node: string): ChildMessage {
    const member = { group: this.#absolute(group), node: this.#absolute(node) };
    const message: ChildMessage = { kind: 'belongs', session: this.name, ...member };
    this.#roles.set(member.group, message);
    return message;
  }

  gone(group: string): ChildMessage {
    this.#roles.delete(this.#absolute(group));
    return { kind: 'gone', session: this.name, group: this.#absolute(group) };
  }

  /** The guardian's paths aren't below this session's chroot. */
  #absolute(path: string): string {
    return this.#session.absolute(path);
  }

  #keep(message: ChildMessage & { readonly election: string }): ChildMessage {
    this.#roles.set(message.election, message);
    return message;
  }
}

const link = new GuardianLink(process as ParentChannel);

/**
 * @internal Reports that a registered session is a member of a group of shards with that node. If this process ends, a guardian writes that
 * the member no longer acts. @returns a function to call when the session is no longer a member
 */
export function registerMember(session: Session, group: string, node: string): () => void {
  return link.belong(session, group, node);
}

/** @internal See {@link GuardianLink.listen}. */
export function listenToGuardians(): () => void {
  return link.listen();
}

/** @internal Whether a guardian guards this process. */
export function isGuarded(): boolean {
  return link.isGuarded;
}

/**
 * Registers a session that this process has opened itself, and the roles of an elector, with a `SessionGuardian` in the parent
 * process, if there is one. When this process has ended, in whatever way, the guardian closes the session at once, and its locks
 * are free. An `ElectionSupervisor` does this by itself.
 *
 * @param elector - an elector of this session; call this once for each, before its `start()`
 * @throws InvalidOptionError if it isn't a session, or not an elector
 */
export function registerWithGuardian(session: Session, elector?: LeaderElector): void {
  checkInstance('session', session, Session);
  if (elector !== undefined) checkInstance('elector', elector, LeaderElector);
  link.register(session, elector);
}
