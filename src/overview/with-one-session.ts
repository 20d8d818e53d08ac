import type { ReadingListener, SessionReading } from '../session/observers/observer.js';
import type { Session } from '../session/session.js';
import type { OverviewModel } from './model/overview-model.js';
import type { ServerClock } from './model/server-clock.js';
import { HeartbeatPoll, ServerPoll } from './reading/periodic-reads.js';
import { Tree } from './reading/tree.js';

/**
 * Everything that an overview reads with one session: the tree below its root and, while the overview is attended, heartbeats and servers.
 */
export class OverviewReading implements SessionReading {
  readonly session: Session;
  readonly listener: ReadingListener<void>;
  readonly #model: OverviewModel;
  readonly #serverClock: ServerClock;
  readonly #tree: Tree;
  #polls: readonly { stop(): void }[] = [];
  readonly #unsubscribe: () => void;

  constructor(
    session: Session,
    root: string,
    model: OverviewModel,
    serverClock: ServerClock,
    listener: ReadingListener<void>,
  ) {
    this.session = session;
    this.listener = listener;
    this.#model = model;
    this.#serverClock = serverClock;
    model.begin();
    this.#tree = new Tree(session, root, model, serverClock);
    const onSuspended = () => model.connected(false);
    const onResumed = () => model.connected(true);
    session.on('suspended', onSuspended).on('resumed', onResumed);
    this.#unsubscribe = () => session.off('suspended', onSuspended).off('resumed', onResumed);
    model.connected(session.state.name === 'connected');
  }

  /** Begins or ends the reading of heartbeats and servers. */
  attend(isAttended: boolean): void {
    for (const poll of this.#polls) poll.stop();
    if (!isAttended) {
      this.#polls = [];
      return;
    }
    const { session } = this;
    const model = this.#model;
    const heartbeats = new HeartbeatPoll({
      ...{ session, slots: this.#tree.slots, serverClock: this.#serverClock },
      leaders: () => model.leaders(),
      onHeartbeat: ({ path, leader }, at) => model.beat(path, leader, at),
    });
    this.#polls = [heartbeats, new ServerPoll(session, (servers) => model.polled(servers))];
  }

  stop(): void {
    this.#unsubscribe();
    this.attend(false);
    this.#tree.stop();
  }
}
