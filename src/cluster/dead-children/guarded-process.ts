import { ElectedTerm } from '../../election/term/elected-term.js';
import type { ReleasableClaim, Term } from '../../election/term/term.js';
import type { SessionCredentials } from '../../session/id-and-password.js';
import type { Session } from '../../session/session.js';
import { type ChildMessage, sessionName } from './guardian-messages.js';
import type { ReportedMember } from './remove-shard-member.js';

/** A session to clean up when its process has ended. */
export interface OpenSession {
  readonly session: string;
  readonly credentials: SessionCredentials;
  readonly timeoutMs: number;
  /** The terms that were led with it, as far as its process reported them. Don't rely on the report. */
  readonly claims: readonly ReleasableClaim[];
  /** The elections in which it waited: it may have been handed a term that its process could no longer report. Don't rely on the report. */
  readonly waits: readonly string[];
  /** The groups of shards that it was a member of, as far as its process reported them. Don't rely on the report. */
  readonly members: readonly ReportedMember[];
}

/** A session of this process itself, and a term that it leads with it. */
export function openSessionOf(session: Session, term?: Term): OpenSession {
  const claim = term instanceof ElectedTerm ? term.claim : undefined;
  return {
    session: sessionName(session.credentials.id),
    credentials: session.credentials,
    timeoutMs: session.sessionTimeoutMs,
    claims: claim === undefined ? [] : [absoluteClaim(session, claim)],
    waits: [],
    members: [],
  };
}

/** The claim with the paths that it has for a client without this session's chroot. */
export function absoluteClaim(session: Session, claim: ReleasableClaim): ReleasableClaim {
  const { record, version, term, node } = claim; // A token, which is a bigint, can't be sent.
  return { record: session.absolute(record), version, term, node: session.absolute(node) };
}

/** The role of a guarded process in elections, as far as the process has reported it. */
export type ElectionRole =
  /** It hasn't answered the guardian yet, or has no place in any queue. */
  | 'none'
  /** It has a place in the queue of an election, and leads none. */
  | 'waiting'
  /** It leads one. */
  | 'leading';

interface ReportedSession {
  readonly opened: ChildMessage & { readonly kind: 'opened' };
  readonly claims: Map<string, ReleasableClaim | undefined>; // By election; `undefined` where it waits.
  readonly members: Map<string, ReportedMember>; // By group.
}

// A process may report anything. Its reports must not fill the parent's memory, nor make the parent open connections without end.
export const MOST_SESSIONS = 256;
export const MOST_ELECTIONS = 4096;

/** A guardian's knowledge of one process. */
export class GuardedProcess {
  readonly #sessions = new Map<string, ReportedSession>();

  has(session: string): boolean {
    return this.#sessions.has(session);
  }

  /** Keeps what the message reports; `false` if the process has reported too much already, and this isn't kept. */
  receive(message: ChildMessage): boolean {
    if (message.kind === 'opened') {
      if (!this.has(message.session) && this.#sessions.size >= MOST_SESSIONS) return false;
      this.#sessions.set(message.session, { opened: message, claims: new Map(), members: new Map() });
      return true;
    }
    if (message.kind === 'over') {
      this.#sessions.delete(message.session);
      return true;
    }
    const reported = this.#sessions.get(message.session);
    if (reported === undefined) return true;
    const { claims, members } = reported;
    if (message.kind === 'left') claims.delete(message.election);
    else if (message.kind === 'gone') members.delete(message.group);
    else if (message.kind === 'belongs') {
      if (!members.has(message.group) && this.#places >= MOST_ELECTIONS) return false;
      members.set(message.group, { group: message.group, node: message.node });
    } else {
      if (!claims.has(message.election) && this.#places >= MOST_ELECTIONS) return false;
      claims.set(message.election, message.kind === 'leads' ? message.claim : undefined);
    }
    return true;
  }

  /** In elections, and in groups of shards. */
  get #places(): number {
    return [...this.#sessions.values()].reduce(
      (sum, { claims, members }) => sum + claims.size + members.size,
      0,
    );
  }

  get role(): ElectionRole {
    const all = [...this.#sessions.values()].flatMap(({ claims }) => [...claims.values()]);
    if (all.some((claim) => claim !== undefined)) return 'leading';
    return all.length > 0 ? 'waiting' : 'none';
  }

  openSessions(): OpenSession[] {
    return [...this.#sessions.values()].map(({ opened, claims, members }) => {
      const { session, credentials, timeoutMs } = opened;
      const led = [...claims.values()].filter((claim) => claim !== undefined);
      const waits = [...claims].flatMap(([election, claim]) => (claim === undefined ? [election] : []));
      return { session, credentials, timeoutMs, claims: led, waits, members: [...members.values()] };
    });
  }
}
