import type { ReleasableClaim } from '../../election/term/claim.js';
import { ElectedTerm, type Term } from '../../election/term/term.js';
import type { Session, SessionCredentials } from '../../session/session.js';
import { type ChildMessage, sessionName } from './guardian-messages.js';

/** What there is to wind up of one session when its process has ended. */
export interface OpenSession {
  readonly session: string;
  readonly credentials: SessionCredentials;
  readonly timeoutMs: number;
  /** What was led with it, as far as its process told: nothing that can be relied on. */
  readonly deeds: readonly ReleasableClaim[];
}

/** What there is to wind up of a session of this process's own, and of a term that it leads with it. */
export function openSessionOf(session: Session, term?: Term): OpenSession {
  const deed = term instanceof ElectedTerm ? term.claim : undefined;
  return {
    session: sessionName(session.credentials.id),
    credentials: session.credentials,
    timeoutMs: session.sessionTimeoutMs,
    deeds: deed === undefined ? [] : [absoluteDeed(session, deed)],
  };
}

/** As whoever isn't below this session's chroot has to write it. */
export function absoluteDeed(session: Session, deed: ReleasableClaim): ReleasableClaim {
  const { record, version, term, node } = deed; // A token, which is a bigint, can't be sent.
  return { record: session.absolute(record), version, term, node: session.absolute(node) };
}

/** Where a process that is guarded stands, as far as it told. */
export type ElectionRole =
  /** It hasn't answered the guardian yet, or has no place in any queue. */
  | 'none'
  /** It has a place in the queue of an election, and leads none. */
  | 'waiting'
  /** It leads one. */
  | 'leading';

interface Known {
  readonly opened: ChildMessage & { readonly kind: 'opened' };
  /** By election. */
  readonly deeds: Map<string, ReleasableClaim | undefined>;
}

// A process may say what it likes: that must not fill its parent's memory, nor let it open connections without end.
export const MOST_SESSIONS = 256;
export const MOST_ELECTIONS = 4096;

/** What a guardian knows of one process. */
export class GuardedProcess {
  readonly #sessions = new Map<string, Known>();

  /** Whether the process has said that this session is its own. */
  has(session: string): boolean {
    return this.#sessions.has(session);
  }

  /** `false`: there is too much that the process has told already, and this isn't kept. */
  hear(word: ChildMessage): boolean {
    if (word.kind === 'opened') {
      if (!this.has(word.session) && this.#sessions.size >= MOST_SESSIONS) return false;
      this.#sessions.set(word.session, { opened: word, deeds: new Map() });
      return true;
    }
    if (word.kind === 'over') {
      this.#sessions.delete(word.session);
      return true;
    }
    const deeds = this.#sessions.get(word.session)?.deeds;
    if (word.kind === 'left') deeds?.delete(word.election);
    else if (deeds !== undefined) {
      if (!deeds.has(word.election) && this.#elections >= MOST_ELECTIONS) return false;
      deeds.set(word.election, word.kind === 'leads' ? word.deed : undefined);
    }
    return true;
  }

  get #elections(): number {
    return [...this.#sessions.values()].reduce((sum, { deeds }) => sum + deeds.size, 0);
  }

  get standing(): ElectionRole {
    const all = [...this.#sessions.values()].flatMap(({ deeds }) => [...deeds.values()]);
    if (all.some((deed) => deed !== undefined)) return 'leading';
    return all.length > 0 ? 'waiting' : 'none';
  }

  estates(): OpenSession[] {
    return [...this.#sessions.values()].map(({ opened, deeds }) => {
      const { session, credentials, timeoutMs } = opened;
      const led = [...deeds.values()].filter((deed) => deed !== undefined);
      return { session, credentials, timeoutMs, deeds: led };
    });
  }
}
