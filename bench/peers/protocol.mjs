import { createInterface } from 'node:readline';

/**
 * A contender on a session.
 *
 * @typedef {object} Contender
 * @property {() => Promise<unknown>} join joins the queue; resolves when the contender holds, and never if it leaves before
 * @property {() => Promise<unknown>} release releases
 * @property {() => Promise<unknown>} leave leaves the queue, or releases
 */

/**
 * A client with a session.
 *
 * @typedef {object} Client
 * @property {(path: string) => Contender} contender
 * @property {() => Promise<unknown>} close
 */

/**
 * Opens a session. The options are the recipe's, as the program's arguments give them.
 *
 * @typedef {(connect: string, sessionTimeoutMs: number, options: Record<string, unknown>) => Promise<Client>} Open
 */

const [connect = '', sessionTimeout = '', recipe = '', options = '{}'] = process.argv.slice(2);

const nowUs = () => Number(process.hrtime.bigint()) / 1000;

/** @param {number[]} times */
const took = (times) => `took ${times.map((us) => us.toFixed(1)).join(' ')}`;

/** The contenders of one queue, and its holder. */
class Line {
  /** @type {Contender[]} */
  #contenders = [];
  /** @type {{ contender: Contender, sinceUs: number } | undefined} */
  #holder;
  /** @type {(() => void) | undefined} */
  #onHeld;

  /** @param {Client[]} clients @param {string} path */
  async form(clients, path) {
    const held = this.#nextHeld();
    for (const client of clients) {
      const contender = client.contender(path);
      this.#contenders.push(contender);
      void contender.join().then(() => {
        this.#holder = { contender, sinceUs: nowUs() };
        this.#onHeld?.();
      });
    }
    await held;
  }

  async handOver() {
    const former = this.#holder?.contender;
    if (former === undefined) throw new Error('no contender holds');
    const held = this.#nextHeld();
    const releasedUs = nowUs();
    const released = former.release();
    await held;
    const us =
      /** @type {{ sinceUs: number }} */ (/** @type {unknown} */ (this.#holder)).sinceUs - releasedUs;
    await released;
    this.#contenders.splice(this.#contenders.indexOf(former), 1);
    return us;
  }

  async leave() {
    // They leave from the end of the queue, so that none of them gets its turn.
    await Promise.all(this.#contenders.reverse().map((contender) => contender.leave()));
  }

  #nextHeld() {
    return new Promise((resolve) => {
      this.#onHeld = () => resolve(undefined);
    });
  }
}

/**
 * Carries out the commands of `README.md` until `quit`.
 *
 * @param {Record<string, Open>} recipes
 */
export async function obey(recipes) {
  const open = recipes[recipe];
  if (open === undefined)
    throw new Error(`expected one of ${Object.keys(recipes).join(', ')}, not ${recipe}`);
  /** @type {Client[]} */
  const clients = [];
  let line = new Line();
  const nth = (/** @type {number} */ number) => {
    const client = clients[number];
    if (client === undefined) throw new Error(`session ${number} isn't open`);
    return client;
  };
  /** @type {Record<string, (...args: string[]) => Promise<string>>} */
  const commands = {
    async open(count) {
      const missing = Number(count) - clients.length;
      const opened = await Promise.all(
        Array.from({ length: Math.max(0, missing) }, () =>
          open(connect, Number(sessionTimeout), JSON.parse(options)),
        ),
      );
      clients.push(...opened);
      return 'opened';
    },
    async cycle(path = '', count = '0') {
      const contender = nth(0).contender(path);
      const times = [];
      for (let at = 0; at < Number(count); at++) {
        const startedUs = nowUs();
        await contender.join();
        await contender.release();
        times.push(nowUs() - startedUs);
      }
      return took(times);
    },
    async queue(path = '', count = '0') {
      line = new Line();
      await line.form(clients.slice(0, Number(count)), path);
      return 'queued';
    },
    async hand() {
      return took([await line.handOver()]);
    },
    async leave() {
      await line.leave();
      return 'left';
    },
    async stand(path = '', session = '0') {
      void nth(Number(session))
        .contender(path)
        .join()
        .then(() => console.log(`held ${session}`));
      return 'standing';
    },
  };
  console.log('ready');
  for await (const words of createInterface({ input: process.stdin })) {
    const [command = '', ...args] = words.split(' ');
    if (command === 'quit') break;
    const run = commands[command];
    if (run === undefined) throw new Error(`no such command: ${words}`);
    console.log(await run(...args));
  }
  await Promise.all(clients.map((client) => client.close()));
  process.stdin.destroy(); // The benchmark may keep it open, which would keep this process alive.
}

/** @param {Promise<void>} running */
export function failLoudly(running) {
  running.catch((error) => {
    console.log(`failed ${error instanceof Error ? error.message : error}`);
    process.exit(1);
  });
}
