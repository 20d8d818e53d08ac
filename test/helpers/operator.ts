import { inject } from 'vitest';
import type { AccessEntry } from '../../src/session/protocol/acl.js';
import * as operations from '../support/wire/operations.js';
import { RawClient } from '../support/wire/raw-client.js';
import { onTestFinished } from './finish.js';

/** A client that does what a session of ours can't, as an operator would with `zkCli.sh`. */
export interface Operator {
  /** Changes who may touch a node. */
  setAcl(path: string, access: readonly AccessEntry[]): Promise<void>;
  /** Creates a node that goes with no session, and which the servers delete some time after its last child. */
  createContainer(path: string): Promise<void>;
}

/** @param auth - who it is to the servers; by default nobody */
export async function openOperator(auth?: {
  readonly scheme: string;
  readonly credentials: string;
}): Promise<Operator> {
  const client = await RawClient.connect(inject('port') as number);
  onTestFinished(() => client.close());
  if (auth !== undefined) await client.do(operations.auth(auth.scheme, auth.credentials));
  return {
    setAcl: async (path, access) => void (await client.do(operations.setAcl(path, access))),
    createContainer: async (path) => void (await client.do(operations.createContainer(path))),
  };
}
