/**
 * Wrong versions of Conclave, made by hand. Each is a mistake that an engineer has made, or could make, and that the tests must
 * notice. They exist only while `npm run mutants` runs, in the code that vitest loads in place of the sources.
 */
import { HANDLE_MUTANTS } from './handle-mutants.mjs';
import { SASL_MUTANTS } from './sasl-mutants.mjs';
import { SHARD_MUTANTS } from './shard-mutants.mjs';
import { STALL_MUTANTS } from './stall-mutants.mjs';

/**
 * @typedef {object} Edit
 * @property {string} file - the file's path below `src`
 * @property {string} from - a text that the file has exactly once
 * @property {string} to - the text that replaces it
 */

/**
 * @typedef {object} Mutant
 * @property {string} name
 * @property {string} what - the difference, in a few words
 * @property {string} danger - its consequence
 * @property {readonly Edit[]} edits
 * @property {string} file - the file of the tests that catch the mutant, below `test`
 * @property {string} test - the full name of the test that must fail
 */

/** @type {readonly Mutant[]} */
export const MUTANTS = [
  {
    name: 'no-uuid',
    what: "a client sends a create without an answer again: without a uuid it can't know which node is its own",
    danger:
      'the servers may have carried out the first create: its node is ahead of the second one, and all contenders wait for it',
    edits: [
      {
        file: 'queue/join-queue.ts',
        from: 'const found = await findCreated(session, queue, parse, nodes);',
        to: 'const found = undefined as Contender<N> | undefined;',
      },
    ],
    file: 'unit/precautions.test.ts',
    test: 'a create whose reply is lost > has left one node, and the caller holds by that, instead of waiting behind itself',
  },
  {
    name: 'same-uuid',
    what: 'every join has the same uuid',
    danger:
      'after a lost reply a contender takes the node of another contender of the same session for its own',
    edits: [
      {
        file: 'queue/join-queue.ts',
        from: 'const uuid = options.id ?? session.environment.uuid();',
        to: "const uuid = '01234567-89ab-4def-8123-456789abcdef';",
      },
    ],
    file: 'unit/precautions.test.ts',
    test: 'a create whose reply is lost > has not made the node of another contender of the same session its own',
  },
  {
    name: 'string-order',
    what: 'sequence numbers are compared as strings',
    danger:
      'after 2147483647 comes -2147483648: the order of the queue is reversed, and two contenders are first',
    edits: [
      {
        file: 'queue/names-and-order.ts',
        from: '.sort(compare);',
        to: '.sort((a, b) => (a.node.slice(-10) < b.node.slice(-10) ? -1 : 1));',
      },
    ],
    file: 'unit/queue/names-and-order.test.ts',
    test: 'the order of the queue > is the order of creation wherever the counter stands, also when it wraps round on the way',
  },
  {
    name: 'name-order',
    what: 'nodes are compared by their whole names, the uuid first',
    danger: 'a later contender may be first while the holder still holds',
    edits: [
      {
        file: 'queue/names-and-order.ts',
        from: '.sort(compare);',
        to: '.sort((a, b) => (a.node < b.node ? -1 : 1));',
      },
    ],
    file: 'unit/queue/names-and-order.test.ts',
    test: 'the order of the queue > is the order of creation wherever the counter stands, also when it wraps round on the way',
  },
  {
    name: 'circular-order',
    what: 'numbers that other clients have made up are compared with each other',
    danger:
      'the comparisons go round in a circle, and a contender ahead is sorted behind: two contenders are first',
    edits: [
      {
        file: 'queue/order-after-overflow.ts',
        from: 'queueOf(children, parse, own)',
        to: 'queueOf(children, parse)',
      },
    ],
    file: 'unit/queue/order-after-overflow.test.ts',
    test: 'the order of creation > is that of the numbers a server gave, whatever numbers others have made up',
  },
  {
    name: 'lease-from-reply',
    what: 'a lease counts from the arrival of the reply',
    danger:
      'a reply that was under way for long begins a lease, although others have waited until it was over',
    edits: [
      {
        file: 'session/connection/connection.ts',
        from: 'outcome.resolve(new ServerReply(decode(body), zxid, sentAt));',
        to: 'outcome.resolve(new ServerReply(decode(body), zxid, Math.max(sentAt, this.#writer.sentAt())));',
      },
    ],
    file: 'unit/precautions.test.ts',
    test: 'a lease > counts from when the proof was sent, however late the reply comes',
  },
  {
    name: 'ping-lease',
    what: "the session's pings are heartbeats",
    danger:
      'a server without a quorum answers pings: the lease goes on after the quorum has deleted the node',
    edits: [
      {
        file: 'session/keep-alive/keep-alive.ts',
        from: '...this.#batches.map((batch) => this.#confirm(batch, connection)),',
        to: `connection.ping().then(({ sentAt }) => {
        for (const node of membersOf(this.#nodes)) node.confirmed(sentAt);
      }),`,
      },
    ],
    file: 'unit/precautions.test.ts',
    test: 'a lease > is over when the server answers pings, and no write any more',
  },
  {
    name: 'no-takeover-delay',
    what: "after an unclean end a candidate doesn't wait until the lease is over",
    danger: 'the former leader may be cut off from the servers, and still act on its lease: two leaders',
    edits: [
      {
        file: 'election/decide-next-step.ts',
        from: `if (holder.name === 'gone') return ms > 0 ? { do: 'wait', ms } : claim(of, record, known);`,
        to: `if (holder.name === 'gone') return claim(of, record, known);`,
      },
    ],
    file: 'unit/precautions.test.ts',
    test: 'a leader whose node the servers have given away > is not succeeded as long as its own lease lasts, though it has not heard of it',
  },
  {
    name: 'sequence-as-term-token',
    what: "a term's token is the number of the leader's node",
    danger:
      'the number wraps round, begins anew when the election is deleted, and falls when a candidate leads out of turn',
    edits: [
      {
        file: 'election/queue-place.ts',
        from: 'token: zxid,',
        to: 'token: BigInt(this.contender.entry.sequence),',
      },
    ],
    file: 'unit/precautions.test.ts',
    test: 'a token > rises from term to term, also when the election was deleted in between',
  },
  {
    name: 'sequence-as-lock-token',
    what: "a hold's token is the number of its node",
    danger:
      "the number wraps round, and begins anew when the lock's path is deleted: the protected resource refuses the holder",
    edits: [
      {
        file: 'queue/join-queue.ts',
        from: 'entry: entryOf(path), czxid, listing }',
        to: 'entry: entryOf(path), czxid: BigInt(entryOf(path).sequence), listing }',
      },
    ],
    file: 'unit/precautions.test.ts',
    test: 'a token > rises from hold to hold, also when the lock was deleted in between',
  },
  {
    name: 'path-only-ownership',
    what: 'a contender takes a node with its own name for its own, whatever session the node belongs to',
    danger:
      "the contender adopts a former session's node, which the servers delete when they end that session",
    edits: [
      {
        file: 'session/session.ts',
        from: 'return isKnown(identity) && stat.ephemeralOwner === identity.id;',
        to: 'return stat.ephemeralOwner !== 0n;',
      },
    ],
    file: 'unit/precautions.test.ts',
    test: 'a node of another session > is nothing to hold by, whatever its path',
  },
  {
    name: 're-create-on-reconnect',
    what: 'a contender creates its node again after each reconnect',
    danger:
      'the first node still exists: no contender owns the second node, and none deletes it while the session lives',
    edits: [
      {
        file: 'queue/contender.ts',
        from: 'this.node = node;',
        to: `this.node = node;
    session.on('resumed', () => {
      const prefix = \`\${queue}/\${entry.node.slice(0, -10)}\`;
      session.create(prefix, { mode: 'ephemeral-sequential' }).catch(ignore);
    });`,
      },
    ],
    file: 'unit/precautions.test.ts',
    test: 'a session that comes back > in time has the places that it had, and no others',
  },
  {
    name: 'new-session-on-reconnect',
    what: 'an expired session goes on as a new session, as if it had been reconnected',
    danger: "its nodes are gone, and their holders aren't notified",
    edits: [
      {
        file: 'session/server-search.ts',
        from: "this.expire('the session has expired');",
        to: 'this.#identity = withoutCredentials(this.#identity);',
      },
    ],
    file: 'unit/precautions.test.ts',
    test: 'a session that comes back > too late is over, with all that was held by it, and is not begun anew behind its holders',
  },
  {
    name: 'release-before-work-settles',
    what: 'an elector gives a term back as soon as the term has ended',
    danger: "the next leader acts while the former leader's work still runs",
    edits: [
      {
        file: 'election/elector-lifecycle.ts',
        from: 'await term.settled((over) => this.#onOverrun(term, over));',
        to: 'void term.settled((over) => this.#onOverrun(term, over));',
      },
    ],
    file: 'unit/precautions.test.ts',
    test: 'the end of a term > is known to no other candidate before the work of the term has settled',
  },
  {
    name: 'hook-not-awaited',
    what: "the supervisor calls the clean-up hook, and doesn't wait for it",
    danger: 'the next candidacy begins, and may lead, with the state of the lost candidacy',
    edits: [
      {
        file: 'cluster/supervisor/cleanup-hook.ts',
        from: 'const decision = await Promise.race([hook(known), late]);',
        to: `hook(known).catch(() => undefined);
    const decision = (await Promise.race([undefined, late])) as unknown;`,
      },
    ],
    file: 'unit/precautions.test.ts',
    test: 'the clean-up hook > has come to its end before its process joins the election again',
  },
  {
    name: 'no-hook-at-stop',
    what: 'a stop after the loss of a session leaves out the clean-up hook',
    danger: 'the state that the lost session has left behind stays, and no caller learns of it',
    edits: [
      {
        file: 'cluster/supervisor/supervision-loop.ts',
        from: 'if (loss === undefined || (await',
        to: 'if (loss === undefined || this.#stop.signal.aborted || (await',
      },
    ],
    file: 'unit/outstanding-cleanup.test.ts',
    test: 'a supervisor that is stopped after the loss of a session > cleans up all the same when the work of the lost term has still to settle',
  },
  {
    name: 'flag-for-lease',
    what: 'the newest report decides whether something is held, not the clock',
    danger:
      'when a suspended process goes on, timers run before any event: the process acts on a lease that is long over',
    edits: [
      {
        file: 'lease/validity.ts',
        from: 'if (this.seemsHeld) return true;',
        to: 'return true;',
      },
    ],
    file: 'unit/precautions.test.ts',
    test: 'a lease > is over when a process goes on that has been stopped, before any event has reported it',
  },
  {
    name: 'waits-by-the-clock-of-leases',
    what: 'a wait goes by the clock of leases',
    danger: 'a pause between two readings makes a takeover delay end early, and there are two leaders',
    edits: [
      {
        file: 'platform/time/clock.ts',
        from: 'now(): number {\n    return this.sources.monotonicMs();',
        to: 'now(): number {\n    return this.leaseNow();',
      },
      {
        file: 'platform/time/clock.ts',
        from: 'if (uptime === undefined) return this.now();',
        to: 'if (uptime === undefined) return this.sources.monotonicMs();',
      },
    ],
    file: 'unit/platform/time/clock.test.ts',
    test: "the machine's clock > never runs ahead for waits, also where the process stands still between two readings",
  },
  {
    name: 'lease-clock-reads-monotonic-first',
    what: 'the clock of leases reads the uptime last',
    danger:
      'a pause between the readings counts as suspended time for ever, and hides a suspension that comes later',
    edits: [
      {
        file: 'platform/time/clock.ts',
        from: 'const uptimeMs = uptime.readMs();\n    const monotonicMs = this.sources.monotonicMs();',
        to: 'const monotonicMs = this.sources.monotonicMs();\n    const uptimeMs = uptime.readMs();',
      },
    ],
    file: 'unit/platform/time/clock.test.ts',
    test: "the machine's clock > never lags behind for leases by more than 30 ms, also where the process stands still between two readings",
  },
  {
    name: 'ahead-gone-is-turn',
    what: 'the end of the predecessor means "my turn", whatever other contenders are left ahead',
    danger:
      'a contender in the middle of the queue gives up, and two contenders hold (etcd3 #176, Curator #115)',
    edits: [
      {
        file: 'queue/turn-wait.ts',
        from: "this.#state = missing === 1 && !mayLeaveReader(entries, this.#rule) ? 'next' : 'blocked';",
        to: "this.#state = missing >= 1 ? 'next' : 'blocked';",
      },
    ],
    file: 'unit/precautions.test.ts',
    test: 'the end of the one ahead > is not the turn of the one behind it while another contender is left ahead',
  },
  {
    name: 'handover-unconditional',
    what: "a handover doesn't depend on the version of the successor's node",
    danger: "the handover overwrites the successor's advertised data, and a candidate that is leaving leads",
    edits: [
      {
        file: 'election/term/claim-and-release-writes.ts',
        from: 'data: marked, version: successor.version }',
        to: 'data: marked }',
      },
    ],
    file: 'unit/handover-precautions.test.ts',
    test: 'a handover > is refused, with all that goes with it, if the successor has changed its node since that was read',
  },
  {
    name: 'record-at-any-version',
    what: 'a write of a record depends on no version of it',
    danger: 'another process may have claimed since the record was read: two leaders, or two owners',
    edits: [
      {
        file: 'session/versioned-records.ts',
        from: "({ kind: 'set', path, data, version }) as const",
        to: "({ kind: 'set', path, data, ...(version < 0 && { version }) }) as const",
      },
    ],
    file: 'unit/session/versioned-records.test.ts',
    test: 'a write of records > leaves out those that were written since, and those whose other parts are refused',
  },
  {
    name: 'record-of-another-connection',
    what: 'a write relies on a record that another connection has shown',
    danger: 'in a restored backup another process has the record at that version, and both act',
    edits: [
      {
        file: 'session/versioned-records.ts',
        from: 'changes.filter((change) => change.connection === connection)',
        to: 'changes.slice()',
      },
    ],
    file: 'unit/session/versioned-records.test.ts',
    test: 'a write of records > is not sent over another connection than the one that has shown the record',
  },
  {
    name: 'no-barrier-after-a-lost-reply',
    what: 'a write whose reply was lost is read again without a barrier',
    danger: 'the read shows the record as it was, and the write is carried out after that',
    edits: [
      {
        file: 'session/versioned-records.ts',
        from: '        await barrier();',
        to: '',
      },
    ],
    file: 'unit/session/versioned-records.test.ts',
    test: 'a write of records > whose reply is lost says so behind a barrier: by then a read shows what came of it',
  },
  {
    name: 'release-of-the-version-alone',
    what: 'a release compares the version of its claim, and not whose the record is',
    danger:
      'in a restored backup another process holds the record at that version, and loses it while it acts',
    edits: [
      {
        file: 'session/versioned-records.ts',
        from: 'found.value && found.version === change.version',
        to: 'found.version === change.version',
      },
    ],
    file: 'unit/session/versioned-records.test.ts',
    test: 'a release of records > leaves a record alone that has the version of the claim by the write of another, as in a restored backup',
  },
  {
    name: 'release-without-a-barrier',
    what: 'a release over another connection reads the record without a barrier',
    danger:
      'a server that is behind shows an older record: the release counts as done, and no process gets the record',
    edits: [
      {
        file: 'session/versioned-records.ts',
        from: '      await sender.barrier();',
        to: '',
      },
    ],
    file: 'unit/session/versioned-records.test.ts',
    test: 'a release of records > ends when the barrier is refused: the process that gives them back is no longer there',
  },
  {
    name: 'plain-leave',
    what: 'a candidate leaves the queue whatever the record says',
    danger:
      'if a term is handed to it in that moment, others have to wait for its lease, though it never led',
    edits: [
      {
        file: 'election/term/release-term.ts',
        from: 'leaveParts({ path, version }, node.deletions)',
        to: 'node.deletions',
      },
    ],
    file: 'unit/handover-precautions.test.ts',
    test: 'a handover > to a candidate that is leaving, and has read the record before it, is noticed and given on',
  },
  {
    name: 'first-proof-of-the-node-alone',
    what: "a term that was handed over begins with a proof of the candidate's node alone",
    danger: 'another client has overwritten the record since it was read: another candidate may lead',
    edits: [
      {
        file: 'election/queue-place.ts',
        from: 'node.beginTerm([check], {',
        to: 'node.beginTerm([], {',
      },
    ],
    file: 'unit/term-precautions.test.ts',
    test: 'a candidate > that was handed a term begins none if the record is overwritten before its first proof',
  },
  {
    name: 'proof-of-the-node-alone',
    what: "a leader's heartbeats don't check the record",
    danger:
      'another client overwrites the record, another candidate claims, and both lead for as long as they live',
    edits: [
      {
        file: 'session/keep-alive/heartbeat-batch.ts',
        from: "parts.push({ node, about: 'record', part: { kind: 'check', path, version } });",
        to: 'void [path, version];',
      },
    ],
    file: 'unit/term-precautions.test.ts',
    test: 'a leader whose record another client overwrites > ends its term with its next heartbeat, for a reason of its own',
  },
  {
    name: 'guarded-by-the-node-alone',
    what: "a leader's guarded write checks its node, and not the record",
    danger: 'a former leader writes behind the next one',
    edits: [
      {
        file: 'election/term/elected-term.ts',
        from: 'return new HolderTransaction([this.#node], ended, this.#node.record);',
        to: 'return new HolderTransaction([this.#node], ended);',
      },
    ],
    file: 'unit/term-precautions.test.ts',
    test: 'a leader whose record another client overwrites > has its guarded writes refused from then on, which ends its term too',
  },
  {
    name: 'lease-from-before-the-term',
    what: 'a lease that began before the term counts for the term',
    danger: 'nothing shows that the record was the term’s when that lease began',
    edits: [
      {
        file: 'lease/node-with-heartbeat.ts',
        from: '    this.#record = undefined;\n    this.dropLease();\n',
        to: '    this.#record = undefined;\n',
      },
    ],
    file: 'unit/term-precautions.test.ts',
    test: 'the lease of a term > is no lease from before the term',
  },
  {
    name: 'shortest-lease-of-an-unreadable-record',
    what: "a candidate waits out its own lease where the record doesn't name one",
    danger: 'the former leader has a longer lease, and acts',
    edits: [
      {
        file: 'election/decide-next-step.ts',
        from: 'Math.max(own.leaseMs, known.longestLeaseMs)',
        to: 'own.leaseMs',
      },
    ],
    file: 'unit/term-precautions.test.ts',
    test: 'a candidate > with a short lease waits out the longest one that it has seen when the whole election is deleted',
  },
  {
    name: 'shorter-lease-in-the-record',
    what: 'a candidate leads a term whose record names a shorter lease than its own',
    danger: 'others wait only as long as the record says: another candidate leads while it still acts',
    edits: [
      {
        file: 'election/decide-next-step.ts',
        from: 'if (value.leaseMs < own.leaseMs) return claim(of, record, known);',
        to: 'if (value.leaseMs < 0) return claim(of, record, known);',
      },
    ],
    file: 'unit/handover-precautions.test.ts',
    test: 'a handover > by a record whose lease is shorter than the successor’s begins no term: the successor claims the next one',
  },
  {
    name: 'lease-rounded-down',
    what: "the lease in a candidate's name is rounded down",
    danger: "the record of a handover names a shorter lease than the successor's",
    edits: [
      {
        file: 'election/candidates/candidate-uuid.ts',
        from: 'mantissa = Math.ceil(mantissa / 2)',
        to: 'mantissa = Math.floor(mantissa / 2)',
      },
    ],
    file: 'unit/election/candidates/candidate-uuid.test.ts',
    test: "a candidate's uuid > is one of version 8, and says the priority, and a lease that is no shorter",
  },
  {
    name: 'hands-over-to-an-unprepared-one',
    what: "a leader takes a successor's `prepared: false` for enough",
    danger: 'the service has no working leader for as long as the successor still loads',
    edits: [
      {
        file: 'election/await-prepared-successor.ts',
        from: 'preparedOf(data) !== false || undefined',
        to: 'preparedOf(data) !== undefined || undefined',
      },
    ],
    file: 'unit/election/await-prepared-successor.test.ts',
    test: 'a leader that waits for its successor to be prepared > counts the next one if the successor leaves',
  },
  {
    name: 'whole-grace-for-the-wait',
    what: 'a leader that is asked to step down waits for its successor until the grace is over',
    danger: "its work has no time to settle: with onOverrun: 'exit' the process ends",
    edits: [
      {
        file: 'election/request-handler.ts',
        from: '(settleBy - this.#session.clock.now()) / 2',
        to: 'settleBy - this.#session.clock.now()',
      },
    ],
    file: 'unit/election/await-prepared-successor.test.ts',
    test: 'a leader that waits for its successor to be prepared > waits for half of the grace at most when it is asked to step down, so that its work has time to settle',
  },
  {
    name: 'prepared-for-ever',
    what: 'a candidate that was prepared in one place says so in the next',
    danger: 'leaders hand over to a candidate that has just begun to load',
    edits: [
      {
        file: 'election/preparation.ts',
        from: 'this.#host.advertisement.prepared(false); // For the next place.',
        to: '',
      },
    ],
    file: 'unit/election/preparation.test.ts',
    test: 'a candidate that prepares > says in its next place that it is not prepared',
  },
  {
    name: 'prepares-twice',
    what: 'a candidate that is elected meanwhile calls prepare again, beside the first call',
    danger: 'what the first call has opened stays open, and lead waits for a whole load',
    edits: [
      {
        file: 'election/preparation.ts',
        from: "if (this.#state.name === 'running') await abortable(this.#state.settled, term);",
        to: '',
      },
    ],
    file: 'unit/election/preparation.test.ts',
    test: 'a candidate that prepares > that is elected meanwhile waits for the call that is under way',
  },
  {
    name: 'closed-under-the-work',
    what: 'the signal of prepare aborts as soon as the term ends',
    danger: 'the work that still settles uses what is closed',
    edits: [
      {
        file: 'election/elector-lifecycle.ts',
        from: 'const takesTime = term.hasWork || this.#beforeRelease !== undefined;',
        to: 'const takesTime = term.hasWork || this.#beforeRelease !== undefined;\n    this.#preparation?.end();',
      },
    ],
    file: 'integration/warm-standby.test.ts',
    test: 'a candidate that prepares > keeps what it has opened until the work of its term has settled',
  },
  {
    name: 'demoted-before-signal',
    what: "`demoted` is emitted before the term's signal aborts",
    danger: 'a listener of `demoted` still sees the term held, and lets work go on',
    edits: [
      {
        file: 'election/elector-lifecycle.ts',
        from: `    term.end(reason, ending);
    if (reason !== 'node-deleted') return this.#announceEnd(term, reason);`,
        to: `    if (reason !== 'node-deleted') this.#announceEnd(term, reason);
    term.end(reason, ending);
    if (reason !== 'node-deleted') return;`,
      },
    ],
    file: 'unit/precautions.test.ts',
    test: 'the end of a term > is reported by its signal before it is reported by an event',
  },
  {
    name: 'lease-grows',
    what: 'a lease gets longer when the servers grant a longer session timeout at a reconnect',
    danger: "the election's record, which says how long others must wait, was written before",
    edits: [
      {
        file: 'session/id-and-password.ts',
        from: 'const grantedMs = isKnown(identity) ? Math.min(identity.leaseMs, fitting) : fitting;',
        to: 'const grantedMs = fitting;',
      },
    ],
    file: 'unit/precautions.test.ts',
    test: 'a lease > does not get longer when a reconnect is granted a longer session timeout',
  },
  {
    name: 'insist-on-zxid',
    what: 'a handshake shows the newest zxid that the session has seen, without an end',
    danger:
      'servers that have lost their data never answer the handshake: the session neither lives nor ends, and no replica leads',
    edits: [
      {
        file: 'session/server-search.ts',
        from: 'return unservedMs > INSISTS_FOR_TIMEOUTS * sessionTimeoutMs;',
        to: 'return unservedMs > Number.POSITIVE_INFINITY * sessionTimeoutMs;',
      },
    ],
    file: 'unit/session/server-search.test.ts',
    test: 'the zxid in a handshake > is shown for longer than an ensemble with a quorum keeps a silent session, and then no more',
  },
  {
    name: 'transaction-begins-lease',
    what: 'a guarded transaction begins a lease, though it raises no version',
    danger: 'no candidate sees that lease: another candidate takes over while it lasts',
    edits: [
      {
        file: 'lease/node-with-heartbeat.ts',
        from: 'protected found(): void {',
        to: 'protected found(sentAt: LeaseInstant): void {\n    this.extendLease(sentAt);',
      },
    ],
    file: 'unit/takeover-precautions.test.ts',
    test: 'the lease of a candidate with a heartbeat node > does not get longer by a guarded transaction, which no other session sees',
  },
  {
    name: 'check-within-term',
    what: 'a leader whose heartbeat node was deleted goes on with its term',
    danger: 'no heartbeat can prove its node any more, and it keeps its place',
    edits: [
      {
        file: 'lease/heartbeat-node.ts',
        from: `if (this.#isGone) this.#onUnprovable(\`\${this.path} was deleted by another client\`);`,
        to: 'if (this.#isGone) return;',
      },
    ],
    file: 'unit/takeover-precautions.test.ts',
    test: 'the lease of a candidate with a heartbeat node > ends with its heartbeat node: its heartbeats neither make that again nor go on without',
  },
  {
    name: 'proof-raises-nothing',
    what: 'a heartbeat checks the own node, and raises no version',
    danger: 'no candidate sees its leases: another candidate takes over while they last',
    edits: [
      {
        file: 'session/keep-alive/heartbeat-batch.ts',
        from: "if (raised !== undefined) parts.push({ node, about: 'raised', part: raised.absoluteRaise(byThread) });",
        to: '',
      },
    ],
    file: 'unit/takeover-precautions.test.ts',
    test: 'the lease of a candidate with a heartbeat node > begins with a heartbeat and with a proof, and each raises the version',
  },
  {
    name: 'claim-raises-nothing',
    what: 'a claim begins a lease, and raises no version',
    danger:
      'a candidate that has followed the claimant since before the claim takes over while that lease lasts',
    edits: [
      {
        file: 'lease/node-with-heartbeat.ts',
        from: '[raised.raise, ...ofTerm, ...parts]);\n      const [proof] = reply.value;\n      if (raised.written(proof as PartResult, reply.zxid)) this.extendLease(reply.sentAt);\n      this.lost.throwIfAborted();\n      return { ...reply, value: reply.value.slice(1 + ofTerm.length) };',
        to: '[...ofTerm, ...parts]);\n      this.extendLease(reply.sentAt);\n      this.lost.throwIfAborted();\n      return { ...reply, value: reply.value.slice(ofTerm.length) };',
      },
    ],
    file: 'unit/takeover-precautions.test.ts',
    test: 'the lease of a candidate with a heartbeat node > begins with a heartbeat and with a proof, and each raises the version',
  },
  {
    name: 'version-goes-back',
    what: 'a version that a heartbeat has raised may be lower than the version before',
    danger:
      "the servers' data went back to an earlier state, and versions come again: a candidate takes them for silence",
    edits: [
      {
        file: 'lease/heartbeat-node.ts',
        from: 'if (version <= this.#newest.version)',
        to: 'if (Number.isNaN(version))',
      },
    ],
    file: 'unit/lease/heartbeat-node.test.ts',
    test: 'the heartbeat node of a candidate > shows that the data of the servers went back if its version does not rise',
  },
  {
    name: 'any-version',
    what: 'a claim by takeover deletes the heartbeat node at any version',
    danger: 'the leader may have sent another heartbeat since the version was read: two leaders',
    edits: [
      {
        file: 'election/term/claim-and-release-writes.ts',
        from: `return [{ kind: 'delete', path: \`\${queue}/\${heartbeatNodeOf(holder)}\`, version }, own];`,
        to: `return [{ kind: 'delete', path: \`\${queue}/\${heartbeatNodeOf(holder)}\` }, own];`,
      },
    ],
    file: 'unit/takeover-precautions.test.ts',
    test: 'what a claim by takeover deletes > stays, and the claim is refused, if the leader has sent another heartbeat since its version was seen',
  },
  {
    name: 'heartbeat-node-stays',
    what: "a claim by takeover deletes only the leader's own node",
    danger: 'nothing shows whether there was another heartbeat: two leaders',
    edits: [
      {
        file: 'election/term/claim-and-release-writes.ts',
        from: 'if (version === MISSING) return [own];',
        to: 'if (version >= MISSING) return [own];',
      },
    ],
    file: 'unit/takeover-precautions.test.ts',
    test: 'what a claim by takeover deletes > stays, and the claim is refused, if the leader has sent another heartbeat since its version was seen',
  },
  {
    name: 'since-asked',
    what: 'silence counts from the sending of the read that showed the version',
    danger:
      'a heartbeat that was sent later, but reached the servers before the read, begins a longer lease: two leaders',
    edits: [
      {
        file: 'lease/failure-detector.ts',
        from: 'since: isSame ? before.since : now, readAt, connection }',
        to: 'since: isSame ? before.since : Math.min(now, readAt), readAt, connection }',
      },
    ],
    file: 'unit/lease/failure-detector.test.ts',
    test: 'what was seen of a heartbeat node > counts from when the answer came that first showed its version, not from when it was asked for',
  },
  {
    name: 'since-of-any-transaction',
    what: 'silence counts on when a version comes again by another transaction',
    danger:
      'after servers have lost a heartbeat the next one brings the same version: it begins a lease that nobody waits for',
    edits: [
      {
        file: 'lease/failure-detector.ts',
        from: 'before.version === version && before.zxid === zxid;',
        to: 'before.version === version;',
      },
    ],
    file: 'unit/lease/failure-detector.test.ts',
    test: 'what was seen of a heartbeat node > begins anew with a version that comes again by another transaction, as in a restored backup',
  },
  {
    name: 'claim-by-an-old-read',
    what: 'a claim relies on a version that was read over an earlier connection',
    danger: 'restored data bring the version again, by a heartbeat that begins a lease',
    edits: [
      {
        file: 'election/leader-monitor.ts',
        from: 'this.#holder = { ...this.#holder, readAt: Number.NEGATIVE_INFINITY };',
        to: 'this.#holder = { ...this.#holder };',
      },
    ],
    file: 'unit/election/leader-monitor.test.ts',
    test: 'what a candidate knows of a silent holder > has to be read again over another connection before a claim',
  },
  {
    name: 'position-begins-anew',
    what: 'silence counts anew when the record is read again',
    danger:
      'if a leader dies together with the candidate behind it, it is replaced later, by half a lease and more',
    edits: [
      {
        file: 'election/leader-monitor.ts',
        from: 'if (seen.zxid !== this.#zxid) {',
        to: 'if (seen.zxid !== this.#zxid || this.#record === undefined) {',
      },
    ],
    file: 'unit/election/leader-monitor.test.ts',
    test: 'what a candidate knows of a silent holder > counts on while the record is read again, from the same read on',
  },
  {
    name: 'claim-over-another-connection',
    what: 'a claim goes out over another connection than the one that has shown the record',
    danger: "in a restored backup the record has that version by another candidate's claim",
    edits: [
      {
        file: 'election/leader-monitor.ts',
        from: 'const record = this.#record?.connection === this.#session.connectionNumber ? this.#record : undefined;',
        to: 'const record = this.#record;',
      },
    ],
    file: 'unit/election/leader-monitor.test.ts',
    test: 'the record that a candidate knows > is no longer known over another connection than the one that has shown it',
  },
  {
    name: 'gone-by-a-server-behind',
    what: "the leader's node counts as gone over a connection that hasn't shown the record",
    danger:
      'a server that is behind does not have the node yet: its leader heartbeats on, and two candidates lead',
    edits: [
      {
        file: 'election/leader-monitor.ts',
        from: 'if (shownOn === connectionNumber) ',
        to: 'if (connectionNumber !== -1) ',
      },
    ],
    file: 'unit/election/leader-monitor.test.ts',
    test: 'what a candidate knows of a silent holder > does not count the end of its own node over a connection that has not shown the record',
  },
  {
    name: 'gone-by-a-read-before',
    what: "the watch on a leader's node goes on over another connection",
    danger: 'a server that is behind may answer that read before it has caught up and shown the record',
    edits: [
      {
        file: 'election/leader-monitor.ts',
        from: 'this.#unwatchHolder();\n      this.#shownOn = ',
        to: 'this.#shownOn = ',
      },
    ],
    file: 'unit/election/leader-monitor.test.ts',
    test: 'what a candidate knows of a silent holder > reads the node of its holder again, behind the record, over another connection',
  },
  {
    name: 'gone-over-another-connection',
    what: "the end of a leader's node counts on over another connection",
    danger: 'in a restored backup the node is there again, and its leader has a lease',
    edits: [
      {
        file: 'election/leader-monitor.ts',
        from: "if (this.#holder.name === 'gone' && value.state === 'held') this.#holder = UNSEEN;",
        to: '',
      },
    ],
    file: 'unit/election/leader-monitor.test.ts',
    test: 'what a candidate knows of a silent holder > counts the end of its own node anew over another connection: in a restored backup it may be back',
  },
  {
    name: 'gone-by-belief',
    what: 'a candidate waits out the lease of a leader whose node may be there',
    danger: 'that leader heartbeats on, and two candidates lead',
    edits: [
      {
        file: 'election/leader-monitor.ts',
        from: "if (value.state !== 'held' && ",
        to: 'if (',
      },
    ],
    file: 'unit/election/leader-monitor.test.ts',
    test: 'what a candidate knows of a silent holder > begins with the first read of its heartbeat node, and with each of its heartbeats again',
  },
  {
    name: 'bare-lease-delay',
    what: 'the takeover delay is the lease, without the margin for clocks',
    danger: 'a leader whose clock is slow still acts when a candidate whose clock is fast claims',
    edits: [
      {
        file: 'lease/failure-detector.ts',
        from: 'return leaseMs * 1.03 + 50;',
        to: 'return leaseMs;',
      },
    ],
    file: 'unit/lease/failure-detector.test.ts',
    test: 'the takeover delay > outlasts the former lease whenever the two clocks run at rates within 1 % of each other',
  },
  {
    name: 'delay-option-shortens',
    what: '`takeoverDelayMs` may be shorter than the lease needs',
    danger: 'a wrong setting makes two leaders',
    edits: [
      {
        file: 'lease/failure-detector.ts',
        from: 'Math.max(takeoverDelayMs(leaseMs), leastMs)',
        to: '(leastMs > 0 ? leastMs : takeoverDelayMs(leaseMs))',
      },
    ],
    file: 'unit/lease/failure-detector.test.ts',
    test: 'the takeover delay > is longer where the one that waits wants that, and never shorter',
  },
  {
    name: 'claim-behind-an-old-read',
    what: 'a claim by takeover is sent when the newest read is old',
    danger: 'servers that hang carry it out when it is of no use to any candidate',
    edits: [
      {
        file: 'election/decide-next-step.ts',
        from: 'return isNew(holder, known) ? claim',
        to: 'return isNew(holder, known) || ms <= 0 ? claim',
      },
    ],
    file: 'unit/election/decide-next-step.test.ts',
    test: 'a candidate that follows a leader > claims only behind a read that is younger than half a lease',
  },
  {
    name: 'hand-over-to-nobody',
    what: "a leader that is asked to hand over doesn't look again for the candidate after its policy has agreed",
    danger: 'its work ends for a candidate that has left meanwhile, and another candidate leads',
    edits: [
      {
        file: 'election/request-handler.ts',
        from: 'successor: to === undefined ? undefined : await this.#port.findSuccessor(to) };',
        to: 'successor: undefined };',
      },
    ],
    file: 'integration/revocation.test.ts',
    test: 'a leader that is asked to hand over > goes on when the candidate leaves while its policy thinks',
  },
  {
    name: 'prune-any-version',
    what: 'prune deletes elections at any version',
    danger:
      'the record of a term that has begun and ended uncleanly since is lost, and no candidate waits for its lease',
    edits: [
      {
        file: 'cli/prune/prunable-elections.ts',
        from: "({ kind: 'delete', path, version }) as const",
        to: "({ kind: 'delete', path, version: 0 * version - 1 }) as const",
      },
    ],
    file: 'unit/cli/prune/prunable-elections.test.ts',
    test: 'an election that is pruned > is deleted at the version that was read',
  },
  {
    name: 'prune-without-wait',
    what: "prune doesn't wait until the lease of a leader that ended uncleanly is over",
    danger: 'the next candidate leads a new election while that leader still acts',
    edits: [
      {
        file: 'cli/commands/prune.ts',
        from: 'readAt + waitMs - session.clock.now()',
        to: 'readAt + 0 * waitMs - session.clock.now()',
      },
    ],
    file: 'integration/cli-prune.test.ts',
    test: 'conclave prune > waits out the lease of a leader that ended uncleanly',
  },
  {
    name: 'lost-connection-counts-as-slow-replies',
    what: 'a term that was lost with its connection counts as one whose lease is too short for the replies',
    danger:
      'after two restarts of a server the candidate stays out for 12 to 15 s, and a lone one leaves the work undone',
    edits: [
      {
        file: 'election/elector-lifecycle.ts',
        from: 'const hasConnection = connection !== undefined && connection === connectionNumber;',
        to: 'const hasConnection = connection === undefined || connection > 0;',
      },
    ],
    file: 'unit/election/lost-term-backoff.test.ts',
    test: 'a supervisor > with default options leads again within 10 s when its server restarts three times, each time soon after it was elected',
  },
  {
    name: 'no-term-counts-as-lost-at-once',
    what: 'no term counts as one whose lease is too short for the replies',
    danger: 'such candidates begin and lose one term after another, more than one in a second',
    edits: [
      {
        file: 'election/elector-lifecycle.ts',
        from: 'const hasConnection = connection !== undefined && connection === connectionNumber;',
        to: 'const hasConnection = connection === connectionNumber && connection === undefined;',
      },
    ],
    file: 'unit/election/lost-term-backoff.test.ts',
    test: 'an election whose leases replies can not keep > has at most one term in 5 s',
  },
  {
    name: 'refused-claim-at-once',
    what: 'a claim that the servers refused is sent again at once over the same record',
    danger: 'a server that has lost writes makes its candidate send thousands of claims a second',
    edits: [
      {
        file: 'election/decide-next-step.ts',
        from: 'refusedAt === undefined ? own.leaseMs : now - refusedAt;',
        to: 'refusedAt === undefined ? own.leaseMs : now - refusedAt + own.leaseMs;',
      },
    ],
    file: 'unit/election/decide-next-step.test.ts',
    test: 'a candidate > waits for a lease after a claim over this record was refused, or a first proof, in each of its roles',
  },
  ...HANDLE_MUTANTS,
  ...SASL_MUTANTS,
  ...SHARD_MUTANTS,
  ...STALL_MUTANTS,
];
