import { describe, expect, it, vi } from 'vitest';
import type { Successor } from '../../../src/election/candidates/successor.js';
import { serializeRecord } from '../../../src/election/record/election-record.js';
import {
  claimOf,
  emptyingOf,
  handoverOf,
  leaveParts,
  releaseOf,
  takeoverParts,
} from '../../../src/election/term/claim-and-release-writes.js';
import { MISSING } from '../../../src/lease/failure-detector.js';
import { HolderTransaction } from '../../../src/lease/guarded-transaction.js';
import { NodeWithHeartbeat } from '../../../src/lease/node-with-heartbeat.js';
import { heartbeatNodeOf } from '../../../src/queue/names-and-order.js';
import type { TransactionPart } from '../../../src/session/protocol/multi-and-stats.js';
import { partsOf } from '../../../src/session/versioned-records.js';
import { startWithTestClock } from '../../support/servers/embedded-with-test-clock.js';
import { type NodeName, type Part, WRITES, type Write } from './writes.mjs';

const QUEUE = '/e';
const LEASE_MS = 2000;
const [OWN, HOLDER, SUCCESSOR] = ['0', '1', '2'].map(
  (digit) => `_c_0000000${digit}-89ab-8100-8123-07d00000cdef-lock-000000000${digit}`,
) as [string, string, string];
const NODES: Readonly<Record<string, NodeName>> = {
  [QUEUE]: 'record',
  [`${QUEUE}/${OWN}`]: 'own',
  [`${QUEUE}/${heartbeatNodeOf(OWN)}`]: 'heartbeat',
  [`${QUEUE}/${HOLDER}`]: "holder's own",
  [`${QUEUE}/${heartbeatNodeOf(HOLDER)}`]: "holder's heartbeat",
  [`${QUEUE}/${SUCCESSOR}`]: "successor's own",
};
const VERSIONS = { v: 7, k: 3, n: 2 };
const RECORD = { path: QUEUE, version: VERSIONS.v, connection: 1 };
const TERM_NUMBER = 4;
const TERM = { path: QUEUE, version: VERSIONS.v };
const FIRST = { isFirst: true, node: SUCCESSOR, leaseMs: LEASE_MS } as const;
const CHOSEN = {
  ...{ isFirst: false, id: 'chosen', node: SUCCESSOR, leaseMs: LEASE_MS },
  ...{ data: Buffer.from('{"id":"chosen"}'), version: VERSIONS.n, czxid: 1n },
} as const;

type Send = (node: NodeWithHeartbeat) => unknown;

const claiming = (ending: readonly TransactionPart[] = []) =>
  partsOf([claimOf(RECORD, { term: TERM_NUMBER + 1, node: OWN, leaseMs: LEASE_MS }, ending)]);
const silent = (version: number) => takeoverParts(QUEUE, HOLDER, { version });
const passingOn = (ending: readonly TransactionPart[] = []) =>
  partsOf([handoverOf(RECORD, CHOSEN, TERM_NUMBER + 1, ending)]);

const releasing = (successor: Successor | undefined, { deletions }: NodeWithHeartbeat) =>
  partsOf([releaseOf(RECORD, TERM_NUMBER, successor, deletions)]);

/** How the shipped code sends each write. */
const SENT: Readonly<Partial<Record<keyof typeof WRITES, Send>>> = {
  barrier: (node) => node.commit([]),
  proof: (node) => node.beginTerm([{ kind: 'check', path: QUEUE, version: VERSIONS.v }], TERM),
  claim: (node) => node.beginTerm(claiming(), TERM),
  empty: (node) => node.commit(partsOf([emptyingOf(RECORD)])),
  takeover: (node) => node.beginTerm(claiming(silent(VERSIONS.k)), TERM),
  takeoverOfMissing: (node) => node.beginTerm(claiming(silent(MISSING)), TERM),
  passOn: (node) => node.commit(passingOn()),
  passOnTakeover: (node) => node.commit(passingOn(silent(VERSIONS.k))),
  handOver: (node) => releasing(FIRST, node),
  handOverToChosen: (node) => releasing(CHOSEN, node),
  release: (node) => releasing(undefined, node),
  leave: (node) => leaveParts(RECORD, node.deletions),
  guarded: (node) =>
    new HolderTransaction([node], () => new Error('over'), { ...TERM, absolutePath: QUEUE }).commit(),
};

/** The parts that the code sends, in the words of the table. */
async function sentBy(send: Send): Promise<Part[]> {
  const { open } = await startWithTestClock();
  const session = await open();
  const sent = vi.spyOn(session, 'commit').mockImplementation(() => new Promise(() => undefined));
  const heartbeatPath = `${QUEUE}/${heartbeatNodeOf(OWN)}`;
  const parts = send(NodeWithHeartbeat.of(session, `${QUEUE}/${OWN}`, heartbeatPath));
  return (Array.isArray(parts) ? parts : (sent.mock.lastCall?.[0] ?? [])).map(inWords);
}

function inWords(part: TransactionPart): Part {
  const { kind, path, version } = part as { version?: number } & TransactionPart;
  const node = NODES[path] as NodeName;
  const name = (Object.keys(VERSIONS) as (keyof typeof VERSIONS)[]).find((key) => VERSIONS[key] === version);
  const content = part.kind === 'set' ? contentOf(node, Buffer.from(part.data)) : undefined;
  return { kind: kind as Part['kind'], node, version: name, content };
}

function contentOf(node: NodeName, data: Buffer): Part['content'] {
  if (node === "successor's own") return 'you lead';
  if (node !== 'record') return undefined;
  if (data.length === 0) return 'empty';
  if (data.equals(serializeRecord({ state: 'vacant', term: TERM_NUMBER }))) return 'vacant';
  return data.includes(SUCCESSOR) ? 'held by the successor' : 'held by the sender';
}

describe('the shipped code sends the parts of the table, in that order', () => {
  it.each(Object.entries(SENT))('%s', async (name, send) => {
    const { parts }: Write = WRITES[name as keyof typeof WRITES];
    const expected = parts.map(({ kind, node, version, content }) => ({ kind, node, version, content }));
    expect(await sentBy(send)).toEqual(expected);
  });
});
