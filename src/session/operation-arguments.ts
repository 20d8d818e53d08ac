import { InvalidOptionError } from '../errors.js';
import { checkOneOf } from '../platform/checks.js';
import type { Chroot } from './chroot.js';
import { type Access, checkAccess } from './protocol/acl.js';
import { ANY_VERSION, bytesOfParts, type TransactionPart } from './protocol/multi-and-stats.js';

export const CREATE_MODES = ['persistent', 'ephemeral', 'ephemeral-sequential'] as const;
/** The servers' `jute.maxbuffer`, unless they have another. At a larger packet a server drops the connection without an answer. */
const MAX_PACKET_BYTES = 1_048_575;
const MAX_DATA_BYTES = MAX_PACKET_BYTES - 5000;
const KINDS = "'check', 'create', 'set' or 'delete'";

export function checkData(data: Uint8Array): Buffer {
  if (!(data instanceof Uint8Array))
    throw new InvalidOptionError('data', data, 'a Buffer or another Uint8Array');
  if (data.byteLength > MAX_DATA_BYTES)
    throw new InvalidOptionError('data', `${data.byteLength} bytes long`, `at most ${MAX_DATA_BYTES} bytes`);
  return Buffer.from(data); // A copy, because the caller may change the data while the request is held.
}

/** @param what - the request. @throws InvalidOptionError if these parts together are more than servers take in one request */
export function checkSize(what: string, parts: readonly TransactionPart[], access: Access): void {
  const bytes = bytesOfParts(parts, access);
  if (bytes <= MAX_PACKET_BYTES) return;
  const expected = `at most ${MAX_PACKET_BYTES} bytes, with its paths, data and access lists: servers take no more in one request (jute.maxbuffer)`;
  throw new InvalidOptionError(what, `${bytes} bytes long`, expected);
}

/** Versions are signed 32-bit numbers; -1 fits any version. @throws InvalidOptionError */
export function checkVersion(version: number = ANY_VERSION): number {
  if (version === (version | 0)) return version;
  throw new InvalidOptionError('version', version, "a node's version, or -1 for any");
}

/** The checked part, with its absolute path. @throws InvalidOptionError */
export function checkPart(part: TransactionPart, chroot: Chroot): TransactionPart {
  if (typeof part !== 'object' || part === null)
    throw new InvalidOptionError('parts', part, 'an array of objects');
  const path = part.kind === 'create' ? chroot.absoluteToCreate(part.path) : chroot.absolute(part.path);
  switch (part.kind) {
    case 'check':
    case 'delete':
      return { ...part, path, version: checkVersion(part.version) };
    case 'set':
      return { ...part, path, data: checkData(part.data), version: checkVersion(part.version) };
    case 'create': {
      const mode = checkOneOf('mode', part.mode, CREATE_MODES, 'persistent');
      const access = part.access === undefined ? {} : { access: checkAccess(part.access, part.access) };
      return { ...part, path, mode, data: checkData(part.data ?? Buffer.alloc(0)), ...access };
    }
    default:
      throw new InvalidOptionError('kind', (part as { kind: unknown }).kind, KINDS);
  }
}
