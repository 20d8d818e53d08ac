/** @import { Mutant } from './mutants.mjs' */

const FOLDER = 'unit/session/connection-thread';
const REPEATER = `${FOLDER}/heartbeat-repeater.test.ts`;
const HOST = `${FOLDER}/thread-host.test.ts`;
const HELD = `${FOLDER}/held-connection.test.ts`;
const GIVEN = 'unit/session/keep-alive/heartbeats-for-thread.test.ts';
const NODE = 'unit/lease/own-node.test.ts';

/** @param {string} from @param {string} to */
const inRepeater = (from, to) => ({ file: 'session/connection-thread/heartbeat-repeater.ts', from, to });
/** @param {string} from @param {string} to */
const inHost = (from, to) => ({ file: 'session/connection-thread/thread-host.ts', from, to });

/** @param {string} from @param {string} to */
const inHeld = (from, to) => ({ file: 'session/connection-thread/held-connection.ts', from, to });

/** Wrong versions of the thread that sends heartbeats while the main thread stands still. @type {readonly Mutant[]} */
export const STALL_MUTANTS = [
  {
    name: 'lost-connection-goes-on',
    what: 'the thread goes on with the heartbeats of a connection that has ended',
    danger: 'it never stops, and keeps all that belongs to the connection',
    edits: [inHeld('this.#timer?.clear(); // Nothing', '// Nothing')],
    file: HELD,
    test: 'a connection that is lost in a stall > sends nothing, though a heartbeat is due in that moment',
  },
  {
    name: 'lease-after-the-end',
    what: 'the thread reads on from a connection whose end it has reported',
    danger: 'a lease is extended by an answer that the main thread does not get',
    edits: [inHeld('    if (this.#hasEnded) return;\n    this.#filter', '    this.#filter')],
    file: HELD,
    test: 'a connection that is lost in a stall > extends no lease by an answer that comes after its end',
  },
  {
    name: 'stall-without-end',
    what: 'the thread sends heartbeats whether or not the loop of the main thread turns',
    danger: 'a process that hangs leads for ever',
    edits: [inRepeater('if (!mainTurns || this.dueAt', 'if (this.dueAt')],
    file: REPEATER,
    test: 'a repeated heartbeat > is not sent for a main thread whose loop does not turn',
  },
  {
    name: 'stall-counted-by-thread',
    what: "each look of the thread counts as a turn of the main thread's loop",
    danger: 'a process that hangs leads for ever',
    edits: [
      {
        file: 'session/connection-thread/stall-watch.ts',
        from: 'return this.#turning.msLeft() > 0;',
        to: 'const leftMs = this.#turning.msLeft();\n    this.#turning.raiseTo({ monotonicMs: 2 ** 40 });\n    return leftMs > 0;',
      },
    ],
    file: `${FOLDER}/stall-watch.test.ts`,
    test: 'the watch for stalls > finds the loop turning again as soon as it turns',
  },
  {
    name: 'stall-counted-from-the-turn-before',
    what: 'the loop counts as turning for maxStallMs from the last turn that was shown, and not from the next one',
    danger:
      'a stall that begins right before a turn is shown costs the term, though it is shorter than maxStallMs',
    edits: [
      {
        file: 'session/connection-thread/stall-watch.ts',
        from: '() => nextInMs + this.#maxStallMs',
        to: '() => this.#maxStallMs',
      },
    ],
    file: `${FOLDER}/stall-watch.test.ts`,
    test: 'the watch for stalls > finds the loop turning until maxStallMs after its last turn, and standing still from an eighth of that later, or a second',
  },
  {
    name: 'repeat-for-the-waiting',
    what: 'the thread repeats every heartbeat that it knows',
    danger:
      'a term that a stalled candidate is given, and has not begun, is not taken over until maxStallMs is over',
    edits: [
      inRepeater(
        'this.#learnVersions(proven);',
        'this.#learnVersions(proven);\n    for (const { frame, nodes: [first] } of heartbeats)\n      if (first !== undefined) this.#held.set(first.id, { ...first, frame, parts: 0, memory: [] });',
      ),
    ],
    file: REPEATER,
    test: 'a repeated heartbeat > is only one that the main thread gave for what it holds',
  },
  {
    name: 'given-as-held',
    what: 'the main thread gives the heartbeats of all nodes as those of what it holds',
    danger: 'the same',
    edits: [
      {
        file: 'session/keep-alive/heartbeats-for-thread.ts',
        from: 'new Set(nodes.filter(isHeld))',
        to: 'new Set(nodes)',
      },
      {
        file: 'session/keep-alive/heartbeats-for-thread.ts',
        from: 'changed.filter(isHeld).map(',
        to: 'changed.map(',
      },
    ],
    file: GIVEN,
    test: 'what the thread of a connection is given > is nothing to repeat for nodes by which nothing is held, though the thread knows their heartbeat',
  },
  {
    name: 'repeat-behind-the-unanswered',
    what: 'the thread sends a heartbeat though another one is unanswered',
    danger: 'heartbeats pile up at servers that hang, and are carried out when nobody acts by them',
    edits: [inRepeater('this.#unanswered.size > 0 || this.#pings', 'this.#pings')],
    file: REPEATER,
    test: 'a repeated heartbeat > is not sent while a heartbeat of either thread is unanswered',
  },
  {
    name: 'repeat-without-version',
    what: 'the thread is told of no version that a heartbeat raises',
    danger: 'after a restored backup a lease begins that other processes do not see',
    edits: [
      {
        file: 'session/keep-alive/heartbeat-batch.ts',
        from: 'return raised === undefined ? undefined : at + 1;',
        to: 'return raised === undefined ? undefined : at - at - 1;',
      },
    ],
    file: GIVEN,
    test: 'what the thread of a connection is given > is the heartbeat of what is held, in its steady form, from when the connection serves',
  },
  {
    name: 'repeat-at-any-version',
    what: 'a reply to a heartbeat extends the lease whatever its version',
    danger:
      'the data of the servers went back: another process has seen that version before, and waits for no other',
    edits: [inRepeater('version === undefined || version <= (', 'version === undefined || version < 0 * (')],
    file: REPEATER,
    test: 'a repeated heartbeat > that shows a version that did not rise is the last one until the main thread has sent one that is confirmed',
  },
  {
    name: 'repeat-after-a-refusal',
    what: 'the thread goes on with a heartbeat that was refused',
    danger: 'it hides from the main thread and from operators that the node is gone',
    edits: [inRepeater('if (!doubted.has(node.id)) yield node;', 'if (!doubted.has(-1)) yield node;')],
    file: REPEATER,
    test: 'a repeated heartbeat > that is refused is the last one until the main thread has sent one that is confirmed',
  },
  {
    name: 'repeat-trusts-by-another',
    what: 'the answer to a heartbeat for other nodes ends the doubt about one that was refused',
    danger: 'a heartbeat is repeated of which the main thread has yet to find out what is wrong',
    edits: [
      inRepeater('doubted: without(doubted, ids)', 'doubted: ids.length > 0 ? NONE : without(doubted, ids)'),
    ],
    file: REPEATER,
    test: 'a repeated heartbeat > that is refused is the last one until one for the same nodes is confirmed, whatever came of others on their way',
  },
  {
    name: 'repeat-lease-from-reply',
    what: 'the lease counts from the reply to a repeated heartbeat',
    danger: 'a late reply begins a lease that others have waited out',
    edits: [
      inRepeater(
        'this.#port.proved(lease, instant)',
        'this.#port.proved(lease, instant && this.#port.instant())',
      ),
    ],
    file: REPEATER,
    test: 'a lease > counts from before a heartbeat of either thread was written, and begins with the reply that confirms it',
  },
  {
    name: 'repeat-after-release',
    what: 'the thread learns after the release that the node is released',
    danger: 'its heartbeat is refused behind the release, and with it the proof of all other nodes',
    edits: [
      {
        file: 'lease/own-node.ts',
        from: 'if (this.#holders !== undefined && this.isRepeated) this.session.keepAlive.remove(this);',
        to: '',
      },
    ],
    file: NODE,
    test: 'a node of a session whose heartbeats a thread repeats > has its heartbeats repeated from the beginning of a hold until it is released, also while the work of the hold settles',
  },
  {
    name: 'repeat-ends-with-the-term',
    what: 'the thread repeats nothing for a term that has ended',
    danger: 'another candidate leads while the work of the term settles in a stall',
    edits: [
      {
        file: 'lease/validity.ts',
        from: '    if (this.#cell === undefined) return reason;',
        to: '    this.#node.letGo(this);\n    if (this.#cell === undefined) return reason;',
      },
    ],
    file: NODE,
    test: 'a node of a session whose heartbeats a thread repeats > has its heartbeats repeated from the beginning of a hold until it is released, also while the work of the hold settles',
  },
  {
    name: 'own-reply-passes',
    what: 'the replies to the heartbeats of the thread reach the main thread',
    danger: 'the main thread takes them for replies out of turn, and ends the connection',
    edits: [inRepeater("return isOwn(xid) ? 'keep' : 'pass-and-show';", "return 'pass-and-show';")],
    file: REPEATER,
    test: 'in any course of events > the main thread gets all replies to its own requests and no others, and a lease counts from before its proof was written',
  },
  {
    name: 'pings-by-chance',
    what: 'the thread takes each reply to a ping for one to its own',
    danger: 'the main thread waits in vain for the reply to its ping, and ends the connection',
    edits: [
      inRepeater(
        "return this.#pings.shift() === 'own' ? 'keep' : 'pass';",
        "return this.#pings.shift() === undefined ? 'pass' : 'keep';",
      ),
    ],
    file: REPEATER,
    test: 'in any course of events > the main thread gets all replies to its own requests and no others, and a lease counts from before its proof was written',
  },
  {
    name: 'xids-of-the-main-thread',
    what: 'the thread numbers its heartbeats as the main thread numbers its requests',
    danger: 'a reply to the one is taken for a reply to the other',
    edits: [inRepeater('#xid = FIRST_THREAD_XID;', '#xid = 1;')],
    file: REPEATER,
    test: 'a repeated heartbeat > uses no xid of the main thread, whatever their number',
  },
  {
    name: 'watchdog-without-cell',
    what: 'the watchdog goes by what the main thread knows of the lease',
    danger: 'it kills a leader that holds its term',
    edits: [
      {
        file: 'election/watchdog/shared-deadline.ts',
        from: 'Math.max(leftMs, this.lease.leftMs() + MARGIN_MS)',
        to: 'leftMs',
      },
    ],
    file: 'unit/election/watchdog/shared-deadline.test.ts',
    test: "the watchdog's deadline > has not passed while another thread extends the lease, though this one stands still",
  },
  {
    name: 'thread-keeps-the-process',
    what: 'the thread keeps the process running without a connection',
    danger: 'a process that has closed its sessions never exits',
    edits: [inHost('if (running.sockets.size === 0) running.worker.unref();', '')],
    file: HOST,
    test: 'the host of the thread > keeps the process running while there is a connection, as a socket does, and not otherwise',
  },
  {
    name: 'thread-lets-the-process-exit',
    what: 'the thread of a connection does not keep the process running',
    danger: 'a replica that only waits exits',
    edits: [inHost('    running.worker.ref();\n', '')],
    file: HOST,
    test: 'the host of the thread > keeps the process running while there is a connection, as a socket does, and not otherwise',
  },
  {
    name: 'thread-uncaught',
    what: 'no code hears of an error of the thread',
    danger: 'it is an uncaught exception, and ends the process',
    edits: [inHost("    worker.on('error', (error) => this.#fail(running, describe(error), error));\n", '')],
    file: HOST,
    test: 'the host of the thread > loses all connections when the thread throws, with that cause, and starts another thread for the next',
  },
  {
    name: 'thread-with-node-options',
    what: 'the thread gets the environment as it is',
    danger: "the application's modules run in the thread, and may end it",
    edits: [inHost('({ NODE_OPTIONS: _, ...env }: NodeJS.ProcessEnv)', '(env: NodeJS.ProcessEnv)')],
    file: HOST,
    test: "the host of the thread > starts it without the application's options of Node, and with the rest of the environment",
  },
];
