import type { ReleasableClaim } from '../../election/term/term.js';
import { MOST_PATH_BYTES } from '../../platform/checks.js';
import type { SessionCredentials } from '../../session/id-and-password.js';
import type { ReportedMember } from './remove-shard-member.js';

/**
 * The messages between a guardian and the processes that it guards, over the channel between a parent and its child. The
 * application may send its own messages over the same channel: Conclave's are in one property, and Conclave doesn't touch others.
 */

/** From a guardian: report your sessions and roles from now on, or stop reporting them. A process may have several guardians. */
export interface GuardianMessage {
  readonly kind: 'attach' | 'detach';
  readonly guardian: string;
}

/**
 * From a guarded process: it has opened a session, and with that it waits in an election, leads, or has left; or is a member of a group of
 * shards.
 */
export type ChildMessage =
  | {
      readonly kind: 'opened';
      readonly session: string;
      readonly credentials: SessionCredentials;
      readonly timeoutMs: number;
    }
  | { readonly kind: 'waits'; readonly session: string; readonly election: string } // It has a place in the queue.
  | {
      readonly kind: 'leads';
      readonly session: string;
      readonly election: string;
      readonly claim: ReleasableClaim;
    }
  | { readonly kind: 'left'; readonly session: string; readonly election: string } // It has left this election.
  | ({ readonly kind: 'belongs'; readonly session: string } & ReportedMember) // It is a member of this group of shards.
  | { readonly kind: 'gone'; readonly session: string; readonly group: string } // It is no longer a member of this group.
  | { readonly kind: 'over'; readonly session: string }; // This session has ended.

/** A message, and the process that it is from: a parent may get messages over a channel that its child only passes on. */
export interface ChildReport {
  readonly pid: number;
  readonly message: ChildMessage;
}

const PROPERTY = 'conclave';
const FORMAT = 1;
const WORDS = { attach: 'greeting', detach: 'farewell' } as const; // How the guardian's messages are written.

/** A session's name in messages: its id, as ZooKeeper's tools write it. Never for a log: its password follows from it. */
export function sessionName(id: bigint): string {
  return `0x${BigInt.asUintN(64, id).toString(16)}`;
}

export function encodeGuardianMessage({ kind, guardian }: GuardianMessage): object {
  return { [PROPERTY]: { format: FORMAT, word: WORDS[kind], guardian } };
}

/** `undefined`: it isn't one. */
export function decodeGuardianMessage(message: unknown): GuardianMessage | undefined {
  const { word, guardian } = contentOf(message) ?? {};
  if (typeof guardian !== 'string' || guardian.length > LONGEST_GUARDIAN) return undefined;
  if (word === WORDS.attach) return { kind: 'attach', guardian };
  return word === WORDS.detach ? { kind: 'detach', guardian } : undefined;
}

export function encodeChildMessage({ pid, message }: ChildReport): object {
  return { [PROPERTY]: { format: FORMAT, pid, ...fieldsOf(message) } };
}

function fieldsOf(message: ChildMessage): object {
  if (message.kind === 'leads') {
    const { claim, ...rest } = message;
    return { ...rest, deed: claim };
  }
  if (message.kind !== 'opened') return message;
  const { credentials, ...rest } = message;
  return { ...rest, password: Buffer.from(credentials.password).toString('base64') };
}

/** `undefined`: the value isn't a message, or can't be read. A guardian does nothing that it isn't sure of. */
export function decodeChildMessage(received: unknown): ChildReport | undefined {
  const content = contentOf(received);
  const message = content && messageOf(content);
  return message !== undefined && isWhole(content?.pid) ? { pid: content.pid, message } : undefined;
}

function messageOf(content: Record<string, unknown>): ChildMessage | undefined {
  const { kind, session, election, group, node } = content;
  if (typeof session !== 'string' || !SESSION_NAME.test(session)) return undefined;
  switch (kind) {
    case 'over':
      return { kind, session };
    case 'waits':
    case 'left':
      return isPath(election) ? { kind, session, election } : undefined;
    case 'belongs':
      return isPath(group) && isPath(node) ? { kind, session, group, node } : undefined;
    case 'gone':
      return isPath(group) ? { kind, session, group } : undefined;
    case 'leads': {
      const claim = decodeClaim(content.deed);
      return isPath(election) && claim !== undefined ? { kind, session, election, claim } : undefined;
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

// Without leading zeros: each session has one name, which shows whether two processes report the same session.
const SESSION_NAME = /^0x(?:0|[1-9a-f][0-9a-f]{0,15})$/;
const LONGEST_PASSWORD = 128; // A message is kept for as long as its process lives. ZooKeeper's passwords have 16 bytes.
const LONGEST_PATH = 2 * MOST_PATH_BYTES + 256; // A chroot, a path and the name of a node.
const LONGEST_GUARDIAN = 64; // A uuid has 36 characters.

function contentOf(message: unknown): Record<string, unknown> | undefined {
  const content = recordOf(recordOf(message)?.[PROPERTY]);
  return content?.format === FORMAT ? content : undefined;
}

function decodeClaim(value: unknown): ReleasableClaim | undefined {
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
