import { abortable, deferred } from '../platform/async/promises.js';
import type { Session } from '../session/session.js';
import type { OverviewModel } from './model/overview-model.js';
import type { ServerClock } from './model/server-clock.js';
import { HeartbeatPoll, ServerPoll } from './reading/periodic-reads.js';
import { Tree } from './reading/tree.js';

/**
 * Everything that an overview reads with one session: the tree below its root and, while the overview is attended, heartbeats and servers.
 */
export class SessionReading {
  readonly session: Session;
  readonly #model: OverviewModel;
  readonly #serverClock: ServerClock;
  readonly #tree: Tree;
  readonly #failed = deferred<never>();
  #polls: readonly { stop(): void }[] = [];
  readonly #unsubscribe: () => void;

  constructor(session: Session, root: string, model: OverviewModel, serverClock: ServerClock) {
    this.session = session;
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

  /** Called when reading has failed and has to begin anew. */
  fail(error: unknown): void {
    this.#failed.reject(error);
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

  /** Reads until `ended` aborts. @throws its reason, or why reading has failed */
  async run(ended: AbortSignal): Promise<void> {
    try {
      await abortable(this.#failed.promise, ended);
    } finally {
      this.#unsubscribe();
      this.attend(false);
      this.#tree.stop();
    }
  }
}
