import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Network, waysBetween, whyNoNetwork } from './network.js';

const PORT = 2181;
/** Sends back what comes. */
const ECHO = `require('node:net').createServer((socket) => socket.on('error', () => {}).pipe(socket)).listen(${PORT}, () => console.log('up'))`;
/** Sends each line of its input to the address that it is given, and prints what comes back, or the error. */
const CALL = `
  const socket = require('node:net').connect(${PORT}, process.argv[1], () => console.log('connected'));
  socket.on('data', (data) => process.stdout.write(data)).on('error', ({ code }) => console.log(code));
  process.stdin.pipe(socket);
`;

const why = await whyNoNetwork();

describe.skipIf(why !== undefined)(
  `a network in which each server and worker has its own end${why === undefined ? '' : `: skipped, ${why}`}`,
  () => {
    it.each([
      ['both ways', waysBetween(1, 2, 'both')],
      ['what one end sends', waysBetween(1, 2, 'there')],
      ['what it gets', waysBetween(1, 2, 'back')],
    ])('loses what is sent in a cut, until TCP sends it again: %s', async (_, ways) => {
      const { network, call } = await open();
      const caller = await call();
      const faults = [await network.cut(ways), await network.cut(waysBetween(1, 2, 'both'))];
      caller.say('late');
      for (const mend of faults) {
        expect(await caller.hears('late', 300)).toBe(false);
        await mend();
      }
      expect(await caller.hears('late', 10_000)).toBe(true);
    });

    it('resets connections, and refuses new ones, until that is mended', async () => {
      const { network, call } = await open();
      const caller = await call();
      const mend = await network.reset(waysBetween(1, 2, 'both'));
      caller.say('lost');
      expect(await caller.hears('ECONNRESET', 10_000)).toBe(true);
      expect(await (await call('ECONNREFUSED')).hears('connected', 0)).toBe(false);
      await mend();
      await call();
    });

    it('takes a cable out until the last fault that does so is mended', async () => {
      const { network, call } = await open();
      const caller = await call();
      const faults = [await network.unplug(2), await network.unplug(2)];
      caller.say('late');
      for (const plug of faults) {
        expect(await caller.hears('late', 300)).toBe(false);
        await plug();
      }
      expect(await caller.hears('late', 10_000)).toBe(true);
    });
  },
);

/** A network of two ends. A program at the first one answers calls from the second one. */
async function open() {
  const network = await Network.open(2);
  onTestFinished(() => network.close());
  const run = (end: number, ...args: string[]): ChildProcess => {
    const [command = '', ...more] = [...network.launcherOf(end), process.execPath, '-e', ...args];
    const child = spawn(command, more, { stdio: ['pipe', 'pipe', 'inherit'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    return child;
  };
  await new Caller(run(1, ECHO)).hears('up', 10_000);
  const call = async (first = 'connected'): Promise<Caller> => {
    const caller = new Caller(run(2, CALL, network.addressOf(1)));
    expect(await caller.hears(first, 10_000)).toBe(true);
    return caller;
  };
  return { network, call };
}

/** What a program prints, and what is said to it. */
class Caller {
  readonly #child: ChildProcess;
  readonly #lines: string[] = [];
  readonly #news = new EventEmitter();

  constructor(child: ChildProcess) {
    this.#child = child;
    createInterface({ input: child.stdout as Readable }).on('line', (line) => {
      this.#lines.push(line);
      this.#news.emit('line');
    });
  }

  say(line: string): void {
    this.#child.stdin?.write(`${line}\n`);
  }

  /** Whether it prints this line in time, or has done so. */
  async hears(line: string, withinMs: number): Promise<boolean> {
    const signal = AbortSignal.timeout(withinMs);
    while (!this.#lines.includes(line) && !signal.aborted)
      await once(this.#news, 'line', { signal }).catch(() => undefined);
    return this.#lines.includes(line);
  }
}
