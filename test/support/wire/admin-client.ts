import { inject } from 'vitest';
import type { AccessEntry } from '../../../src/session/protocol/acl.js';
import { onTestFinished } from '../vitest/test-end.js';
import * as operations from './operations.js';
import { RawClient } from './raw-client.js';

/** A client that does what a session of ours can't, as an administrator does with `zkCli.sh`. */
export interface AdminClient {
  /** Changes who may touch a node. */
  setAcl(path: string, access: readonly AccessEntry[]): Promise<void>;
  /** Creates a node that goes with no session, and which the servers delete some time after its last child. */
  createContainer(path: string): Promise<void>;
}

/** @param auth - as what it is known to the servers; by default it has no identity */
export async function openAdminClient(auth?: {
  readonly scheme: string;
  readonly credentials: string;
}): Promise<AdminClient> {
  const client = await RawClient.connect(inject('port') as number);
  onTestFinished(() => client.close());
  if (auth !== undefined) await client.do(operations.auth(auth.scheme, auth.credentials));
  return {
    setAcl: async (path, access) => void (await client.do(operations.setAcl(path, access))),
    createContainer: async (path) => void (await client.do(operations.createContainer(path))),
  };
}
