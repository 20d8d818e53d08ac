/** Something that is going to happen. */
export interface Happening {
  readonly at: number;
  readonly order: number;
  readonly task: () => void;
  /** Set to cancel it: this is cheaper than searching for it in the queue. */
  cancelled: boolean;
}

/** Empties the queues of ticks and of microtasks, as Node does after each callback. Node has it, and doesn't document it. */
const emptyQueues = (process as unknown as { _tickCallback?: () => void })._tickCallback;

// So many steps run in one turn of Node's event loop, because the end of a turn costs nearly as much as a step.
const STEPS_IN_A_TURN = emptyQueues === undefined ? 1 : 1000;

/**
 * Virtual time: what happens, in its order; between two things no time passes.
 *
 * After every task that ran code of a client, all its promises and ticks run before the next one: the queues of ticks and
 * of microtasks are emptied. That is complete because the code that is simulated has no other way to do something later:
 * a test of the layers holds that timers come from the injected clock only.
 */
export class Scheduler {
  #now = 0;
  #order = 0;
  #trace = 0;
  #hasFollowUps = false;
  readonly #heap: Happening[] = [];

  /** Milliseconds since the beginning of the world. */
  get now(): number {
    return this.#now;
  }

  /** A number that depends on everything that was noted so far, and on the times: equal for equal runs. */
  get trace(): number {
    return this.#trace >>> 0;
  }

  /** Makes something part of the trace. */
  note(what: number): void {
    let trace = Math.imul(this.#trace ^ what, 0x01000193);
    trace = Math.imul(trace ^ Math.floor(this.#now * 1024), 0x01000193);
    this.#trace = trace ^ (trace >>> 15);
  }

  at(at: number, task: () => void): Happening {
    const happening = { at: Math.max(at, this.#now), order: this.#order++, task, cancelled: false };
    this.#push(happening);
    return happening;
  }

  after(ms: number, task: () => void): Happening {
    return this.at(this.#now + ms, task);
  }

  /** For the script of a run. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.after(ms, () => {
        this.followUp();
        resolve();
      });
    });
  }

  /** A task that runs code with promises calls this: their continuations then run before the next task. */
  followUp(): void {
    this.#hasFollowUps = true;
  }

  /** Lets time pass until `isDone` returns true. It is called after each step. @throws what a task throws */
  run(isDone: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const turn = () => {
        try {
          for (let count = 0; count < STEPS_IN_A_TURN; count++) {
            if (isDone() || !this.#step()) return resolve();
            emptyQueues?.();
          }
          setImmediate(turn);
        } catch (error) {
          reject(error as Error);
        }
      };
      setImmediate(turn);
    });
  }

  /** Runs up to the next task after which promises run. Returns `false` if no task is left. */
  #step(): boolean {
    this.#hasFollowUps = false;
    while (!this.#hasFollowUps) {
      const next = this.#pop();
      if (next === undefined) return false;
      if (next.cancelled) continue;
      this.#now = next.at;
      next.task();
    }
    return true;
  }

  #push(happening: Happening): void {
    const heap = this.#heap;
    let place = heap.length;
    heap.push(happening);
    while (place > 0) {
      const above = (place - 1) >> 1;
      const parent = heap[above] as Happening;
      if (isBefore(parent, happening)) break;
      heap[place] = parent;
      place = above;
    }
    heap[place] = happening;
  }

  #pop(): Happening | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let place = 0;
    for (;;) {
      let below = 2 * place + 1;
      if (below >= heap.length) break;
      if (below + 1 < heap.length && isBefore(heap[below + 1] as Happening, heap[below] as Happening))
        below++;
      if (isBefore(last, heap[below] as Happening)) break;
      heap[place] = heap[below] as Happening;
      place = below;
    }
    heap[place] = last;
    return first;
  }
}

function isBefore(a: Happening, b: Happening): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}
