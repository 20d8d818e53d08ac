import fc from 'fast-check';
import { expect, it, onTestFinished } from 'vitest';
import { startZooKeeper } from '../../scripts/zookeeper.mjs';
import { EmbeddedZooKeeper } from '../../src/testing/index.js';
import {
  type Answer,
  acl,
  bool,
  int,
  long,
  OPEN,
  parts,
  RawClient,
  record,
  text,
  vector,
} from '../helpers/raw-client.js';

/**
 * The embedded server and a real one, both new, are told the same by three clients, and must answer the same, byte for
 * byte but for what is a server's own: times, session ids and the order of children. Zxids are compared as they are: so
 * what fails must have taken a number, or none, at both.
 */

const SILENT = { debug: ignore, info: ignore, warn: ignore, error: ignore };

function ignore(): undefined {
  return undefined;
}

const NAMES = ['a', 'b', 'c', 'a/x', 'a/y', 'a/x/deep', 'b/z', ''] as const;
const ACLS = [
  OPEN,
  OPEN,
  OPEN,
  vector([acl(1, 'world', 'anyone')]),
  vector([acl(31, 'auth', '')]),
  vector([acl(1, 'world', 'anyone'), acl(31, 'auth', '')]),
  vector([acl(27, 'ip', '127.0.0.0/8')]),
  vector([acl(31, 'ip', '10.0.0.1')]),
  vector([acl(31, 'digest', 'no-colon')]),
  vector([acl(31, 'world', 'nobody')]),
  vector([]),
  int(-1),
];

/** A request, once it is known below which node. */
interface Step {
  readonly type: number;
  readonly xid: number | undefined;
  readonly build: (root: string) => Buffer;
  /** For a counterexample. */
  readonly [fc.toStringMethod]: () => string;
}

const name = fc.constantFrom(...NAMES);
const at = (root: string, relative: string) => (relative === '' ? root : `${root}/${relative}`);
const version = fc.constantFrom(-1, -1, 0, 1, 2);
const data = fc.constantFrom('', 'data', 'other data', null);
const flags = fc.constantFrom(0, 0, 1, 2, 3, 4, 5, 6, 7, -1);
const accessList = fc.constantFrom(...ACLS);
const watch = fc.boolean();

const createBody = fc.tuple(name, data, accessList, flags).map(
  ([relative, bytes, access, flag]) =>
    (root: string) =>
      record(text(at(root, relative)), text(bytes), access, int(flag)),
);
const versioned = fc.tuple(name, version).map(
  ([relative, expected]) =>
    (root: string) =>
      record(text(at(root, relative)), int(expected)),
);
const setDataBody = fc.tuple(name, data, version).map(
  ([relative, bytes, expected]) =>
    (root: string) =>
      record(text(at(root, relative)), text(bytes), int(expected)),
);
const setAclBody = fc.tuple(name, accessList, version).map(
  ([relative, access, expected]) =>
    (root: string) =>
      record(text(at(root, relative)), access, int(expected)),
);
const watched = fc.tuple(name, watch).map(
  ([relative, flag]) =>
    (root: string) =>
      record(text(at(root, relative)), bool(flag)),
);
const pathOnly = name.map((relative) => (root: string) => text(at(root, relative)));
const withInt = (values: readonly number[]) =>
  fc.tuple(name, fc.constantFrom(...values)).map(
    ([relative, value]) =>
      (root: string) =>
        record(text(at(root, relative)), int(value)),
  );
const list = (of: fc.Arbitrary<string>) => fc.array(of, { maxLength: 3 });
const setWatchesBody = fc
  .tuple(list(name), list(name), list(name))
  .map(([dataPaths, exist, children]) => (root: string) => {
    const paths = (relatives: readonly string[]) => vector(relatives.map((each) => text(at(root, each))));
    return record(long(0n), paths(dataPaths), paths(exist), paths(children));
  });

type Body = (root: string) => Buffer;
const part = fc.oneof(
  fc.tuple(fc.constantFrom(1, 15, 19), createBody),
  fc.tuple(fc.constant(2), versioned),
  fc.tuple(fc.constant(5), setDataBody),
  fc.tuple(fc.constant(13), versioned),
) as fc.Arbitrary<[number, Body]>;
// Of several children the order differs, and within the answer to several reads it can't be undone: only of those with
// none or one.
const readPart = fc.oneof(
  fc.tuple(fc.constant(4), watched),
  fc.tuple(
    fc.constant(8),
    fc.constant<Body>((root) => record(text(`${root}/c`), bool(true))),
  ),
) as fc.Arbitrary<[number, Body]>;
const multi = (of: fc.Arbitrary<[number, Body]>) =>
  fc.array(of, { maxLength: 4 }).map(
    (all): Body =>
      (root) =>
        parts(...all.map(([type, body]) => [type, body(root)] as const)),
  );

const request = (types: readonly number[], body: fc.Arbitrary<Body>, xid?: number): fc.Arbitrary<Step> =>
  fc.tuple(fc.constantFrom(...types), body).map(([type, build]) => {
    const show = () => `${type} ${build('').toString('hex')}`;
    return { type, xid, build, [fc.toStringMethod]: show };
  });

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: request([1, 15, 19, 21], createBody) },
  { weight: 3, arbitrary: request([2], versioned) },
  { weight: 4, arbitrary: request([5], setDataBody) },
  { weight: 2, arbitrary: request([7], setAclBody) },
  { weight: 4, arbitrary: request([3, 4], watched) },
  { weight: 4, arbitrary: request([8, 12], watched) },
  { weight: 1, arbitrary: request([6, 9, 103, 104], pathOnly) },
  { weight: 4, arbitrary: request([14], multi(part)) },
  { weight: 1, arbitrary: request([22], multi(readPart)) },
  { weight: 1, arbitrary: request([17, 18], withInt([1, 2, 3, 4])) },
  { weight: 1, arbitrary: request([106], withInt([0, 1, 2])) },
  { weight: 1, arbitrary: request([101], setWatchesBody, -8) },
  {
    weight: 1,
    arbitrary: request(
      [100],
      fc.constant<Body>(() => record(int(0), text('digest'), text('me:secret'))),
      -4,
    ),
  },
  // Bodies that make no sense.
  {
    weight: 1,
    arbitrary: request(
      [1, 2, 3, 4, 5, 6, 7, 8, 12, 14, 22, 101],
      fc.constant<Body>(() => int(9)),
    ),
  },
);

const CLIENTS = 3;
const script = fc.array(fc.tuple(fc.nat(CLIENTS - 1), step), { minLength: 5, maxLength: 60 });
const EXISTS = 3;
const SYNC = 9;
const CREATE = 1;
const CLOSE = -11;

/** Runs a script; each step is answered before the next is asked, and every client is heard out after each. */
async function run(
  port: number,
  root: string,
  steps: readonly (readonly [number, Step])[],
): Promise<string[]> {
  const clients: RawClient[] = [];
  for (let i = 0; i < CLIENTS; i++) clients.push(await RawClient.open(port));
  const first = await (clients[0] as RawClient).ask(CREATE, record(text(root), text('root'), OPEN, int(0)));
  expect(first?.code).toBe(0);
  const view = new View(clients);
  const heard: string[] = [];
  for (const [who, { type, build, xid }] of steps) {
    (clients[who] as RawClient).send(type, build(root), xid);
    // What can be seen of the two parents that nearly every step is about, also where a step has said nothing.
    for (const path of ['/', root])
      (clients[who] as RawClient).send(EXISTS, record(text(path), bool(false)), 7);
    // The step's own client first: what comes by different connections isn't ordered.
    const others = clients.filter((_, i) => i !== who);
    for (const client of [clients[who] as RawClient, ...others]) {
      client.send(SYNC, text(root), 777);
      heard.push(`${clients.indexOf(client)} ${type} ${await untilSynced(client, view)}`);
    }
  }
  // Their ephemeral nodes go in no certain order.
  for (const [i, client] of clients.entries()) {
    client.send(CLOSE, undefined, 5);
    heard.push(sorted(await untilSynced(client, view)));
    for (const other of clients.slice(i + 1)) {
      other.send(SYNC, text(root), 777);
      heard.push(sorted(await untilSynced(other, view)));
    }
  }
  return heard;
}

function sorted(heard: string): string {
  return heard.split('|').sort().join('|');
}

/** What one client hears until its barrier is answered, or its connection ends. */
async function untilSynced(client: RawClient, view: View): Promise<string> {
  const heard: string[] = [];
  for (;;) {
    const answer = await client.next();
    if (answer === undefined) return [...heard, 'silence'].join('|');
    if (answer.xid === 777) return heard.join('|');
    heard.push(view.show(answer));
  }
}

// Milliseconds of the epoch: all that differ from now in their last three bytes only.
const NOW = long(BigInt(Date.now())).toString('hex');
const TIMES = new RegExp(`${NOW.slice(0, 10)}[0-9a-f]{6}`, 'g');

/** Shows answers without what differs between servers. */
class View {
  readonly #replacements: [RegExp, string][];

  constructor(clients: readonly RawClient[]) {
    this.#replacements = [
      ...clients.map(({ id }, i): [RegExp, string] => [
        new RegExp(long(id).toString('hex'), 'g'),
        `<session ${i}>`,
      ]),
      [TIMES, '<time>'],
    ];
  }

  show({ xid, zxid, code, body }: Answer): string {
    const hex = (withSortedNames(body) ?? body).toString('hex');
    const shown = this.#replacements.reduce((text, [pattern, by]) => text.replaceAll(pattern, by), hex);
    return `${xid} @${zxid} ${code} ${shown}`;
  }
}

/** A list of names in the order of the alphabet, if the body begins with one. */
function withSortedNames(body: Buffer): Buffer | undefined {
  if (body.length < 4) return undefined;
  const count = body.readInt32BE(0);
  const names: Buffer[] = [];
  let offset = 4;
  for (let i = 0; i < count; i++) {
    if (offset + 4 > body.length) return undefined;
    const length = body.readInt32BE(offset);
    if (length < 0 || offset + 4 + length > body.length) return undefined;
    names.push(body.subarray(offset, offset + 4 + length));
    offset += 4 + length;
  }
  return Buffer.concat([body.subarray(0, 4), ...names.sort(Buffer.compare), body.subarray(offset)]);
}

it('the embedded server answers as a real one does, whatever three clients ask and watch', async () => {
  const real = await startZooKeeper();
  onTestFinished(real.stop);
  const embedded = await EmbeddedZooKeeper.start({
    tickMs: 200,
    maxSessionTimeoutMs: 60_000,
    logger: SILENT,
  });
  onTestFinished(() => embedded.stop());
  const realPort = real.servers[0]?.port as number;
  let count = 0;
  await fc.assert(
    fc.asyncProperty(script, async (steps) => {
      const root = `/run-${count++}`;
      const answers = await Promise.all([realPort, embedded.port].map((port) => run(port, root, steps)));
      expect(answers[1]).toEqual(answers[0]);
    }),
    { numRuns: Number(process.env.CONFORMANCE_RUNS ?? 30), interruptAfterTimeLimit: 40_000 },
  );
}, 300_000);
