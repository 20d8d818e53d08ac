import type { ReleasableClaim } from '../../election/term/claim.js';
import type { SessionCredentials } from '../../session/session.js';

/**
 * What a guardian and the processes that it guards say to each other, over the channel between a parent and its child.
 * There may be other messages on it, of the application's own: ours are in one property, and nobody else's are touched.
 */

/** From the guardian: from now on, or not any more, it is to be told what there is to guard. */
export type GuardianMessage = 'greeting' | 'farewell';

/** From a process that is guarded. */
export type ChildMessage =
  /** It has opened this session. */
  | {
      readonly kind: 'opened';
      readonly session: string;
      readonly credentials: SessionCredentials;
      readonly timeoutMs: number;
    }
  /** With this session it has a place in the queue of this election, and doesn't lead. */
  | { readonly kind: 'waits'; readonly session: string; readonly election: string }
  /** With this session it leads. */
  | {
      readonly kind: 'leads';
      readonly session: string;
      readonly election: string;
      readonly deed: ReleasableClaim;
    }
  /** With this session it stands in this election no more. */
  | { readonly kind: 'left'; readonly session: string; readonly election: string }
  /** This session is over. */
  | { readonly kind: 'over'; readonly session: string };

const PROPERTY = 'conclave';
const FORMAT = 1;

/** A session's name in what is said of it: its id, as ZooKeeper's tools write it. Never for a log: its password follows from it. */
export function sessionName(id: bigint): string {
  return `0x${BigInt.asUintN(64, id).toString(16)}`;
}

export function encodeGuardianMessage(word: GuardianMessage): object {
  return { [PROPERTY]: { format: FORMAT, word } };
}

/** `undefined`: it isn't one. */
export function decodeGuardianMessage(message: unknown): GuardianMessage | undefined {
  const word = contentOf(message)?.word;
  return word === 'greeting' || word === 'farewell' ? word : undefined;
}

export function encodeChildMessage(word: ChildMessage): object {
  if (word.kind !== 'opened') return { [PROPERTY]: { format: FORMAT, ...word } };
  const { credentials, ...rest } = word;
  return {
    [PROPERTY]: { format: FORMAT, ...rest, password: Buffer.from(credentials.password).toString('base64') },
  };
}

/** `undefined`: it isn't one. What can't be read isn't one either: a guardian does nothing that it isn't sure of. */
export function decodeChildMessage(message: unknown): ChildMessage | undefined {
  const content = contentOf(message);
  const { kind, session, election } = content ?? {};
  if (content === undefined || typeof session !== 'string' || !SESSION_NAME.test(session)) return undefined;
  switch (kind) {
    case 'over':
      return { kind, session };
    case 'waits':
    case 'left':
      return isPath(election) ? { kind, session, election } : undefined;
    case 'leads': {
      const deed = decodeDeed(content.deed);
      return isPath(election) && deed !== undefined ? { kind, session, election, deed } : undefined;
    }
    case 'opened': {
      const { password, timeoutMs } = content;
      if (typeof password !== 'string' || password.length > LONGEST_PASSWORD) return undefined;
      if (!isWhole(timeoutMs) || timeoutMs === 0) return undefined;
      const id = BigInt.asIntN(64, BigInt(session));
      return { kind, session, credentials: { id, password: Buffer.from(password, 'base64') }, timeoutMs };
    }
    default:
      return undefined;
  }
}

// Without leading zeros: each session has one name, by which it is known whose it is.
const SESSION_NAME = /^0x(?:0|[1-9a-f][0-9a-f]{0,15})$/;
// What is kept of a word is kept for as long as its process lives. ZooKeeper's passwords have 16 bytes.
const LONGEST_PASSWORD = 128;
const LONGEST_PATH = 4096;

function contentOf(message: unknown): Record<string, unknown> | undefined {
  const content = recordOf(recordOf(message)?.[PROPERTY]);
  return content?.format === FORMAT ? content : undefined;
}

function decodeDeed(value: unknown): ReleasableClaim | undefined {
  const { record, version, term, node } = recordOf(value) ?? {};
  if (!isPath(record) || !isPath(node) || !isWhole(version) || !isWhole(term)) return undefined;
  return { record, version, term, node };
}

function recordOf(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
}

function isPath(value: unknown): value is string {
  return typeof value === 'string' && value.length <= LONGEST_PATH && /^(\/[^/]+)+$/s.test(value);
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
