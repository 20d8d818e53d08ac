import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { isRefused, listing, part, reading, transaction, watching } from '../../peers/packets.mjs';
import { openWire } from '../../peers/wire.mjs';

const CANDIDATE = fileURLToPath(new URL('../processes/packet-candidate.mjs', import.meta.url));
const HELD = Buffer.alloc(200, ' '); // As long as an election's record with a leader.
const ANY_VERSION = -1;

/**
 * A candidate's message to its parent when it has joined.
 *
 * @typedef {{ node: string, heartbeatNode: string, session: { id: string, password: string } }} Joined
 */

/** A candidate's process. */
class Candidate {
  /** @param {{ connect: string, path: string, sessionTimeoutMs: number }} place */
  constructor({ connect, path, sessionTimeoutMs }) {
    this.child = fork(CANDIDATE, [connect, path, String(sessionTimeoutMs)]);
    /** @type {Promise<Joined>} */
    this.joined = this.#told('joined');
    /** @type {Promise<string>} */
    this.electedAt = this.#told('electedAt');
  }

  /** @param {string} what @returns {Promise<any>} */
  #told(what) {
    return new Promise((resolve) => {
      this.child.on('message', (message) => {
        const told = /** @type {Record<string, unknown>} */ (message)[what];
        if (told !== undefined) resolve(told);
      });
    });
  }
}

/**
 * The lower bound: sends a guardian's requests as ready-made packets. It waits for the dead process's last message, takes its session
 * over, reads the record, the node and the queue, and hands the term over in one transaction. The end of the leader's node notifies the next candidate, which reads the record.
 */
export class PacketSuccession {
  #place;
  /** @type {Candidate | undefined} */
  #leader;
  /** @type {Candidate | undefined} */
  #next;
  /** @type {number[]} */
  tookMs = [];

  /** @param {{ connect: string, path: string, sessionTimeoutMs: number }} place */
  constructor(place) {
    this.#place = place;
  }

  /** Waits until one candidate leads, and another waits. */
  async prepare() {
    this.#leader ??= new Candidate(this.#place);
    await this.#leader.electedAt;
    this.#next = new Candidate(this.#place);
    await this.#next.joined;
  }

  /** Kills the leader, hands its term over, and notes the time until the next candidate led. */
  async fail() {
    const [leader, next] = [this.#leader, this.#next];
    if (leader === undefined || next === undefined) throw new Error('no leader or successor was prepared');
    const { connect, path, sessionTimeoutMs } = this.#place;
    const dead = await leader.joined;
    const { node } = await next.joined;
    const reads = Buffer.concat([reading(path), watching(dead.node), listing(path)]);
    const handover = transaction(
      part.delete(dead.node),
      part.delete(dead.heartbeatNode),
      part.check(node),
      part.set(path, HELD, ANY_VERSION),
    );
    leader.child.kill('SIGKILL');
    await once(leader.child, 'exit');
    const endedAt = process.hrtime.bigint();
    if (leader.child.connected) await once(leader.child, 'disconnect');
    const wire = await openWire(connect, sessionTimeoutMs, {
      id: Buffer.from(dead.session.id, 'hex'),
      password: Buffer.from(dead.session.password, 'hex'),
    });
    await wire.ask(3, reads);
    const [answer] = /** @type {[Buffer]} */ (await wire.ask(1, handover));
    if (isRefused(answer)) throw new Error('the handover was refused');
    this.tookMs.push(Number(BigInt(await next.electedAt) - endedAt) / 1e6);
    wire.socket.destroy();
    this.#leader = next;
  }

  async end() {
    this.#leader?.child.kill('SIGKILL');
  }
}
