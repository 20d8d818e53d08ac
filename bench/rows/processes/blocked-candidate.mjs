/** A process with one candidate, whose event loop can be blocked. Meanwhile the blocked thread and a worker ask `isHeld()`. */
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { heldTerm } from 'conclave/held-term';
import { cpuMs, now } from '../../harness/clock.mjs';

const ASK_EVERY_MS = 1;
/** After a block the loop turns for so long before the row looks at what was lost. */
const AFTERMATH_MS = 200;
/** One batch takes a few milliseconds. */
const ASKED_IN_A_BATCH = 2000;
const BATCHES = 51;

/**
 * The answers of `isHeld()` in one thread, and what `remainingMs()` returned beside those that were `true`. Times are those of `now()`.
 *
 * @typedef {{ asked: number, denied: number, leastMs: number, firstDeniedAt: number | undefined }} Answers
 * @typedef {{ ledAt: number, endedAt?: number }} Led
 */

/** @returns {Answers} */
function noAnswers() {
  return { asked: 0, denied: 0, leastMs: Number.POSITIVE_INFINITY, firstDeniedAt: undefined };
}

/** @param {{ isHeld(): boolean, remainingMs(): number }} term @param {Answers} answers */
function ask(term, answers) {
  answers.asked++;
  const remainingMs = term.remainingMs();
  if (term.isHeld()) answers.leastMs = Math.min(answers.leastMs, remainingMs);
  else {
    answers.denied++;
    answers.firstDeniedAt ??= now();
  }
}

if (isMainThread) await serveCandidate();
else answerInThread();

/** In the worker: asks until the main thread says that the block is over, and then posts the answers. */
function answerInThread() {
  const { handle, over } = workerData;
  const isOver = new Int32Array(over);
  const term = heldTerm(handle);
  const answers = noAnswers();
  parentPort?.postMessage('asks');
  while (Atomics.wait(isOver, 0, 0, ASK_EVERY_MS) === 'timed-out') ask(term, answers);
  parentPort?.postMessage(answers);
}

async function serveCandidate() {
  const { once } = (await import('node:events')).EventEmitter;
  const { setTimeout: pause } = await import('node:timers/promises');
  const { ElectionSupervisor } = await import('conclave');
  const { serve, startCandidate } = await import('../../harness/child.mjs');
  /** @type {InstanceType<typeof ElectionSupervisor>} */
  let supervisor;
  /** @type {Promise<unknown>} */
  let elected;
  /** @type {Led[]} */
  const history = [];
  /** @type {object[]} */
  const kept = [];

  /** Computes for so long, and asks every millisecond. @param {number} ms @param {import('conclave').Term | undefined} term */
  function block(ms, term) {
    const answers = noAnswers();
    const until = now() + ms;
    for (let at = now(); at < until; at = now()) {
      if (term !== undefined) ask(term, answers);
      while (now() < Math.min(at + ASK_EVERY_MS, until));
    }
    return answers;
  }

  serve({
    /** Resolves when the candidate leads or waits. `tookMs`: from `start()` until then. */
    join: async ({ connect, path, session }) => {
      supervisor = new ElectionSupervisor({ connect, path, session, guardian: false });
      supervisor
        .on('elected', () => history.push({ ledAt: now() }))
        .on('demoted', () => {
          const last = /** @type {Led} */ (history.at(-1));
          last.endedAt ??= now();
        })
        .on('error', () => undefined); // The history suffices.
      elected = new Promise((resolve) => supervisor.once('elected', resolve));
      const began = now();
      await startCandidate(supervisor);
      return { tookMs: now() - began, rssMb: process.memoryUsage.rss() / 2 ** 20 };
    },
    elected: async () => void (await elected),
    history: () => history,

    /** Blocks the event loop once, after a worker has begun to ask. `kept`: whether the term is held after that. */
    block: async (ms) => {
      const { term } = supervisor;
      const over = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
      const worker =
        term &&
        new Worker(new URL(import.meta.url), { execArgv: [], workerData: { handle: term.handle(), over } });
      if (worker !== undefined) await once(worker, 'message');
      const beganAt = now();
      const main = block(ms, term);
      const endedAt = now();
      Atomics.store(new Int32Array(over), 0, 1);
      Atomics.notify(new Int32Array(over), 0);
      const [thread] = worker === undefined ? [noAnswers()] : await once(worker, 'message');
      await pause(AFTERMATH_MS);
      return { beganAt, endedAt, main, thread, kept: term?.isHeld() ?? false };
    },

    /** Blocks the loop again and again while it leads. `lost`: the terms that ended meanwhile. */
    workInBlocks: async ({ blockMs, pauseMs, forMs }) => {
      const beganAt = now();
      while (now() < beganAt + forMs) {
        const { term } = supervisor;
        if (term === undefined) await pause(10);
        else {
          const { firstDeniedAt } = block(blockMs, term);
          const last = /** @type {Led} */ (history.at(-1));
          if (firstDeniedAt !== undefined) last.endedAt ??= firstDeniedAt;
          await pause(pauseMs);
        }
      }
      const endedAt = now();
      const ledMs = history.map(({ ledAt, endedAt: until = endedAt }) =>
        Math.max(0, until - Math.max(ledAt, beganAt)),
      );
      return {
        lost: history.filter(({ endedAt: until }) => until !== undefined).length,
        ledMs: ledMs.reduce((sum, ms) => sum + ms, 0),
        tookMs: endedAt - beganAt,
      };
    },

    /** Fills the heap, in pieces. @param {number} bytes */
    fill: async (bytes) => {
      while (process.memoryUsage().heapUsed < bytes) {
        for (let at = 0; at < 100_000; at++) kept.push({ at, next: kept[at], text: [at, at, at, at] });
        await pause(0);
      }
    },
    /** Collects the garbage of the whole heap, once. Runs with --expose-gc. */
    collect: async () => {
      const { term } = supervisor;
      const beganAt = now();
      globalThis.gc?.();
      const tookMs = now() - beganAt;
      const isHeld = term?.isHeld() ?? false;
      await pause(AFTERMATH_MS);
      return { tookMs, kept: isHeld && (term?.isHeld() ?? false) };
    },

    /** The median cost of one call of `isHeld()`, in microseconds. */
    costOfIsHeld: () => {
      const { term } = supervisor;
      const batches = Array.from({ length: BATCHES }, () => {
        const began = now();
        for (let at = 0; at < ASKED_IN_A_BATCH; at++) term?.isHeld();
        return ((now() - began) * 1000) / ASKED_IN_A_BATCH;
      });
      return batches.sort((a, b) => a - b)[(BATCHES - 1) / 2];
    },
    cpuMs,
    /** The time of each read, one after the other, in microseconds. */
    read: async ({ path, count }) => {
      const session = await supervisor.session(new AbortController().signal);
      const took = [];
      for (let at = 0; at < count; at++) {
        const began = now();
        await session.getData(path);
        took.push((now() - began) * 1000);
      }
      return took;
    },
  });
}
