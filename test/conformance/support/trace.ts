import { createHash } from 'node:crypto';
import * as ops from '../../support/wire/operations.js';
import type { RawClient, Received } from '../../support/wire/raw-client.js';
import { byText, normalize } from './normalize.js';
import { freshPath, type TestServer } from './servers.js';

/**
 * An action of one of a few clients. Paths are relative to a node that only this run uses, so that the same steps can be repeated,
 * also on other servers.
 */
export type Step =
  /** Sends several questions without waiting for an answer. */
  | { readonly kind: 'ask'; readonly client: number; readonly questions: readonly Question[] }
  | { readonly kind: 'close' | 'reconnect'; readonly client: number };

export type Question =
  | {
      readonly kind: 'create';
      readonly type: CreateType;
      readonly path: string;
      readonly mode: number;
      readonly data: string | null;
      readonly acl: Acl;
    }
  | { readonly kind: 'set'; readonly path: string; readonly data: string | null; readonly version: number }
  | { readonly kind: 'delete' | 'check'; readonly path: string; readonly version: number }
  | { readonly kind: 'setAcl'; readonly path: string; readonly acl: Acl; readonly version: number }
  | { readonly kind: Read; readonly path: string; readonly watch: boolean }
  | { readonly kind: 'getAcl' | 'sync'; readonly path: string }
  | { readonly kind: 'removeWatches'; readonly path: string; readonly type: number }
  | { readonly kind: 'setWatches'; readonly age: number; readonly paths: readonly (readonly string[])[] }
  | { readonly kind: 'multi' | 'multiRead'; readonly parts: readonly Question[] }
  | { readonly kind: 'auth'; readonly user: string }
  | { readonly kind: 'whoAmI' };

export type CreateType = 'create' | 'create2' | 'createContainer' | 'createTtl';
export type Read = 'exists' | 'getData' | 'getChildren' | 'getChildren2';
export type Acl = 'open' | 'creator' | 'reading' | 'alice' | 'mixed' | 'none' | 'wrong';

const ALICE: ops.AclEntry = {
  permissions: ops.PERMISSION.all,
  scheme: 'digest',
  id: `alice:${createHash('sha1').update('alice:pw').digest('base64')}`,
};

const ACLS: Record<Acl, readonly ops.AclEntry[]> = {
  open: ops.OPEN,
  creator: ops.CREATOR_ALL,
  reading: ops.world(ops.PERMISSION.read),
  alice: [ALICE],
  mixed: [...ops.world(ops.PERMISSION.read | ops.PERMISSION.create), ALICE, ...ops.CREATOR_ALL],
  none: [],
  wrong: [{ permissions: ops.PERMISSION.all, scheme: 'nosuch', id: 'x' }],
};

const READS = {
  exists: ops.exists,
  getData: ops.getData,
  getChildren: ops.getChildren,
  getChildren2: ops.getChildren2,
} as const;
const TRANSACTIONS = { multi: ops.multi, multiRead: ops.multiRead } as const;

function toOperation(question: Question, at: (path: string) => string, zxid: bigint): ops.Operation<unknown> {
  switch (question.kind) {
    case 'create': {
      const { type, path, mode, data, acl } = question;
      return createAs(type, at(path), { mode, data, acl: ACLS[acl] });
    }
    case 'set':
      return ops.setData(at(question.path), question.data, question.version);
    case 'delete':
      return ops.remove(at(question.path), question.version);
    case 'check':
      return ops.check(at(question.path), question.version);
    case 'setAcl':
      return ops.setAcl(at(question.path), ACLS[question.acl], question.version);
    case 'exists':
    case 'getData':
    case 'getChildren':
    case 'getChildren2':
      return READS[question.kind](at(question.path), question.watch);
    case 'getAcl':
      return ops.getAcl(at(question.path));
    case 'sync':
      return ops.sync(at(question.path));
    case 'removeWatches':
      return ops.removeWatches(at(question.path), question.type);
    case 'setWatches': {
      const [data = [], exist = [], child = []] = question.paths.map((paths) => paths.map(at));
      return ops.setWatches({ seenZxid: zxid - BigInt(question.age), data, exist, child });
    }
    case 'multi':
    case 'multiRead':
      return TRANSACTIONS[question.kind](...question.parts.map((part) => toOperation(part, at, zxid)));
    case 'auth':
      return ops.auth('digest', `${question.user}:pw`);
    case 'whoAmI':
      return ops.whoAmI();
  }
}

function createAs(type: CreateType, path: string, options: ops.CreateOptions): ops.Operation<unknown> {
  switch (type) {
    case 'create':
      return ops.create(path, options);
    case 'create2':
      return ops.create2(path, options);
    case 'createContainer':
      return ops.createContainer(path, { ...options, mode: ops.MODE.container });
    case 'createTtl':
      return ops.createTtl(path, 10_000n, { ...options, mode: ops.MODE.ttl });
  }
}

const CLIENTS = 3;

/** The results of the steps, each with the reply and the events at all clients, in terms that all servers share. */
export async function trace(server: TestServer, steps: readonly Step[]): Promise<unknown[]> {
  const root = freshPath('trace');
  const clients: RawClient[] = [];
  for (let index = 0; index < CLIENTS; index++) clients.push(await server.open());
  const owners = new Map(clients.map(({ id }, index) => [id, `client ${index}`]));
  const { zxid: start } = await (clients[0] as RawClient).ask(ops.create(root));
  const inCommon = (value: unknown) => normalize(value, { root, start, owners });
  const results: unknown[] = [];
  try {
    for (const step of steps) {
      const seen = clients.map(({ received }) => received.length);
      const before = [...clients];
      const { zxid } = await (clients[0] as RawClient).ask(ops.ping());
      const outcome = await take(server, step, clients, owners, (path) => root + path, zxid);
      // All consequences of the step have arrived before the answer to this ping.
      await Promise.all(clients.map((client) => client.do(ops.ping())));
      const received = before.map((client, index) => since(client.received, seen[index] as number, step));
      results.push(inCommon({ step, outcome, received }));
    }
  } finally {
    for (const client of clients) await client.close();
  }
  return results;
}

async function take(
  server: TestServer,
  step: Step,
  clients: RawClient[],
  owners: Map<bigint, string>,
  at: (path: string) => string,
  zxid: bigint,
): Promise<unknown> {
  const client = clients[step.client] as RawClient;
  switch (step.kind) {
    case 'ask': {
      const operations = step.questions.map((question) => toOperation(question, at, zxid));
      const replies = await Promise.all(operations.map((operation) => client.ask(operation)));
      return replies.map(({ body, ...reply }) => ({ ...reply, bytes: body.length }));
    }
    case 'close': {
      const reply = await client.ask(ops.closeSession());
      clients[step.client] = await server.open();
      owners.set((clients[step.client] as RawClient).id, `client ${step.client}`);
      return reply;
    }
    case 'reconnect':
      client.vanish();
      clients[step.client] = await server.open(client.credentials);
      return (clients[step.client] as RawClient).greeting.timeoutMs;
  }
}

/** Replies and events, in the order in which they came. */
function since(received: readonly Received[], start: number, step: Step): Received[] {
  const items = received.slice(start);
  // The server deletes the ephemeral nodes of a session in no particular order.
  return step.kind === 'close' ? items.sort(byText) : items;
}
