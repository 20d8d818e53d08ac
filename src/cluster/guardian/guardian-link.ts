import { LeaderElector } from '../../election/elector.js';
import { onAbort } from '../../platform/async/lazy-abort.js';
import { ignore } from '../../platform/async/promises.js';
import { checkInstance } from '../../platform/checks.js';
import { Session } from '../../session/session.js';
import { absoluteDeed } from './guarded-process.js';
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
 * This process's link to a guardian in its parent. Nothing is said before the guardian has greeted: a parent that knows
 * nothing of Conclave must not get messages that it doesn't understand, least of all a session's password.
 */
export class GuardianLink {
  readonly #channel: ParentChannel;
  readonly #entrusted = new Map<Session, Standings>();
  #greeted = false;

  constructor(channel: ParentChannel) {
    this.#channel = channel;
  }

  /** Whether a guardian in the parent process has greeted: then that is who ends this process, and in which order. */
  get isGuarded(): boolean {
    return this.#greeted && this.#channel.connected;
  }

  /** Tells the guardian of a session until that is over, and of what an elector does with it. */
  entrust(session: Session, elector?: LeaderElector): void {
    if (this.#channel.send === undefined || session.ended.aborted) return; // Nobody to tell, or nothing.
    let standings = this.#entrusted.get(session);
    if (standings === undefined) {
      standings = new Standings(session);
      this.#add(session, standings);
    }
    if (elector !== undefined) this.#follow(standings, elector);
  }

  #add(session: Session, standings: Standings): void {
    // Only while there is something to guard: a listener for messages keeps a forked process alive.
    if (this.#entrusted.size === 0) this.#channel.on('message', this.#onMessage);
    this.#entrusted.set(session, standings);
    for (const word of standings.words()) this.#tell(word);
    onAbort(session.ended, () => {
      this.#entrusted.delete(session);
      this.#tell({ kind: 'over', session: standings.name });
      if (this.#entrusted.size === 0) this.#channel.off('message', this.#onMessage);
    });
  }

  #follow(standings: Standings, elector: LeaderElector): void {
    elector
      .on('waiting', () => this.#tell(standings.waits(elector)))
      .on('elected', () => this.#tell(standings.leads(elector)))
      .on('stopped', () => this.#tell(standings.left(elector)));
  }

  readonly #onMessage = (message: unknown): void => {
    const word = decodeGuardianMessage(message);
    if (word === undefined) return;
    this.#greeted = word === 'greeting';
    for (const standings of this.#entrusted.values()) {
      for (const each of standings.words()) this.#tell(each);
    }
  };

  #tell(word: ChildMessage | undefined): void {
    if (word === undefined || !this.#greeted || !this.#channel.connected) return;
    this.#channel.send?.(encodeChildMessage(word), ignore); // A guardian that is gone guards nothing.
  }
}

/** One session, and where its electors stand. */
class Standings {
  readonly name: string;
  readonly #session: Session;
  readonly #words = new Map<string, ChildMessage>();

  constructor(session: Session) {
    this.#session = session;
    this.name = sessionName(session.credentials.id);
  }

  /** All there is to know, for a guardian that knows nothing yet. */
  words(): ChildMessage[] {
    const { credentials, sessionTimeoutMs } = this.#session;
    return [
      { kind: 'opened', session: this.name, credentials, timeoutMs: sessionTimeoutMs },
      ...this.#words.values(),
    ];
  }

  waits(elector: LeaderElector): ChildMessage {
    return this.#note({ kind: 'waits', session: this.name, election: this.#absolute(elector.path) });
  }

  /** `undefined`: the term has been given back meanwhile. */
  leads(elector: LeaderElector): ChildMessage | undefined {
    const { claim } = elector;
    if (claim === undefined) return undefined;
    return this.#note({
      kind: 'leads',
      session: this.name,
      election: this.#absolute(elector.path),
      deed: absoluteDeed(this.#session, claim),
    });
  }

  left(elector: LeaderElector): ChildMessage {
    const election = this.#absolute(elector.path);
    this.#words.delete(election);
    return { kind: 'left', session: this.name, election };
  }

  /** The guardian's paths aren't below this session's chroot. */
  #absolute(path: string): string {
    return this.#session.absolute(path);
  }

  #note(word: ChildMessage & { readonly election: string }): ChildMessage {
    this.#words.set(word.election, word);
    return word;
  }
}

const link = new GuardianLink(process as ParentChannel);

/** @internal Whether a guardian looks after this process. */
export function isGuarded(): boolean {
  return link.isGuarded;
}

/**
 * Entrusts a session that this process has opened itself, and what an elector does with it, to a `SessionGuardian` in its
 * parent process, if there is one: when this process has ended, however it did, the session is closed at once and its
 * locks are free. An `ElectionSupervisor` does this by itself.
 *
 * @param elector - one that stands with this session; call it once for each, before its `start()`
 * @throws InvalidOptionError if it isn't a session, or not an elector
 */
export function registerWithGuardian(session: Session, elector?: LeaderElector): void {
  checkInstance('session', session, Session);
  if (elector !== undefined) checkInstance('elector', elector, LeaderElector);
  link.entrust(session, elector);
}
