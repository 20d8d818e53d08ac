import { join } from 'node:path';
import type { TermHandle } from '../../../src/held-term/index.js';
import type { ActingThreadData, ToActingThread } from './acting-thread.js';
import type { ConnectionThreadData, FailMessage } from './connection-thread.js';

// Conclave takes the class from there, too.
const threads = process.getBuiltinModule('node:worker_threads');

const THREAD_OF_CONCLAVE = /connection-thread\/thread\.js$/;

/** The threads of connections that run in this process. */
const running = new Set<InstanceType<typeof threads.Worker>>();

/** From now on Conclave's thread of connections is one that fails when it is told to. */
export function makeConnectionThreadsFail(workerData: ConnectionThreadData): void {
  const program = join(import.meta.dirname, 'connection-thread.js');
  threads.Worker = class extends threads.Worker {
    constructor(...[file, options]: ConstructorParameters<typeof threads.Worker>) {
      const isOfConnections = THREAD_OF_CONCLAVE.test(String(file));
      super(isOfConnections ? program : file, isOfConnections ? { ...options, workerData } : options);
      if (!isOfConnections) return;
      running.add(this);
      this.once('exit', () => running.delete(this));
    }
  };
}

export function failConnectionThreads(failure: Omit<FailMessage, 'kind'>): void {
  for (const each of running) each.postMessage({ ...failure, kind: 'fail' } satisfies FailMessage);
}

/** The thread that acts beside the main thread. It doesn't keep the process alive. */
export class ActingThread {
  readonly #worker: InstanceType<typeof threads.Worker>;

  constructor(workerData: ActingThreadData) {
    this.#worker = new threads.Worker(join(import.meta.dirname, 'acting-thread.js'), { workerData });
    this.#worker.unref();
  }

  act(journal: string, handle: TermHandle, everyMs: number): void {
    this.#worker.postMessage({ kind: 'act', journal, handle, everyMs } satisfies ToActingThread);
  }

  ended(journal: string, token: bigint): void {
    this.#worker.postMessage({ kind: 'ended', journal, token } satisfies ToActingThread);
  }
}
