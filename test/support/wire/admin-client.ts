import { inject } from 'vitest';
import type { AccessEntry } from '../../../src/session/protocol/acl.js';
import { endsWithTest } from '../vitest/test-end.js';
import * as operations from './operations.js';
import { RawClient } from './raw-client.js';

/** A client for operations that a session of Conclave doesn't have, as an administrator uses `zkCli.sh`. */
export interface AdminClient {
  /** Changes a node's access list. */
  setAcl(path: string, access: readonly AccessEntry[]): Promise<void>;
  /** Creates a node that belongs to no session. The servers delete it some time after its last child. */
  createContainer(path: string): Promise<void>;
}

/** @param auth - its identity; by default it has none */
export async function openAdminClient(auth?: {
  readonly scheme: string;
  readonly credentials: string;
}): Promise<AdminClient> {
  const client = endsWithTest(await RawClient.connect(inject('port') as number));
  if (auth !== undefined) await client.do(operations.auth(auth.scheme, auth.credentials));
  return {
    setAcl: async (path, access) => void (await client.do(operations.setAcl(path, access))),
    createContainer: async (path) => void (await client.do(operations.createContainer(path))),
  };
}
