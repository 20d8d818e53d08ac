import { once } from 'node:events';
import { isRefused, listing, part, reading, transaction, watching } from '../../peers/packets.mjs';
import { openWire } from '../../peers/wire.mjs';
import { Succession } from './succession.mjs';

/** @import { Candidate } from './succession.mjs' */

const CANDIDATE = new URL('../processes/packet-candidate.mjs', import.meta.url);
const HELD = Buffer.alloc(200, ' '); // As long as an election's record with a leader.
const ANY_VERSION = -1;

/**
 * The lower bound: sends a guardian's requests as ready-made packets. It waits for the dead process's last message, takes its session
 * over, reads the record, the node and the queue, and hands the term over in one transaction. The end of the leader's node notifies the next candidate, which reads the record.
 */
export class PacketSuccession extends Succession {
  /** @param {{ connect: string, path: string, sessionTimeoutMs: number }} place */
  constructor(place) {
    super(CANDIDATE, place);
  }

  /** @override @param {Candidate} leader @param {Candidate} next */
  async followUp(leader, next) {
    const { connect, path, sessionTimeoutMs } = this.place;
    const dead = await leader.joined;
    const { node } = await next.joined;
    const reads = Buffer.concat([reading(path), watching(dead.node), listing(path)]);
    const handover = transaction(
      part.delete(dead.node),
      part.delete(dead.heartbeatNode),
      part.check(node),
      part.set(path, HELD, ANY_VERSION),
    );
    return async () => {
      if (leader.child.connected) await once(leader.child, 'disconnect');
      const wire = await openWire(connect, sessionTimeoutMs, {
        id: Buffer.from(dead.session.id, 'hex'),
        password: Buffer.from(dead.session.password, 'hex'),
      });
      await wire.ask(3, reads);
      const [answer] = /** @type {[Buffer]} */ (await wire.ask(1, handover));
      if (isRefused(answer)) throw new Error('the handover was refused');
      void next.electedAt.then(() => wire.socket.destroy());
    };
  }
}
