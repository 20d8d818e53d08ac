/**
 * Wrong versions of Conclave, made by hand: each is a mistake that an engineer has made, or could make, and that the tests must
 * notice. They exist while `npm run mutants` runs, in what vitest loads in place of the sources, and nowhere else.
 */

/**
 * @typedef {object} Edit
 * @property {string} file - below `src`
 * @property {string} from - what stands there, exactly once
 * @property {string} to - what takes its place
 */

/**
 * @typedef {object} Mutant
 * @property {string} name
 * @property {string} what - what is different, in a few words
 * @property {string} danger - what comes of it
 * @property {readonly Edit[]} edits
 * @property {string} file - the tests that catch it, below `test`
 * @property {string} test - the full name of the one among them that must fail
 */

/** @type {readonly Mutant[]} */
export const MUTANTS = [
  {
    name: 'no-uuid',
    what: 'a create without an answer is sent again: without a uuid no client knows which node is its own',
    danger:
      'the first one may have been carried out: it is ahead of the second, and all contenders wait for it',
    edits: [
      {
        file: 'lock/queue/join.ts',
        from: 'const found = await findCreated(session, queue, uuid, parse);',
        to: 'const found = undefined as Contender | undefined;',
      },
    ],
    file: 'unit/precautions.test.ts',
    test: 'a create whose reply is lost > has left one node, and the caller holds by that, instead of waiting behind itself',
  },
  {
    name: 'same-uuid',
    what: 'every join has the same uuid',
    danger: "after a lost reply the node of another contender of the same session is taken for one's own",
    edits: [
      {
        file: 'lock/queue/join.ts',
        from: 'const uuid = options.id ?? session.environment.uuid();',
        to: "const uuid = '01234567-89ab-4def-8123-456789abcdef';",
      },
    ],
    file: 'unit/precautions.test.ts',
    test: 'a create whose reply is lost > has not made the node of another contender of the same session its own',
  },
  {
    name: 'string-order',
    what: 'numbers of nodes are compared as strings',
    danger: 'after 2147483647 comes -2147483648: the queue is turned round, and two are first',
    edits: [
      {
        file: 'lock/queue/order.ts',
        from: '.sort(compare);',
        to: '.sort((a, b) => (a.node.slice(-10) < b.node.slice(-10) ? -1 : 1));',
      },
    ],
    file: 'unit/lock/queue/order.test.ts',
    test: 'the order of the queue > is the order of creation wherever the counter stands, also when it wraps round on the way',
  },
  {
    name: 'name-order',
    what: 'nodes are compared by their whole names, the uuid first',
    danger: 'one that comes later may be first while the holder still holds',
    edits: [
      {
        file: 'lock/queue/order.ts',
        from: '.sort(compare);',
        to: '.sort((a, b) => (a.node < b.node ? -1 : 1));',
      },
    ],
    file: 'unit/lock/queue/order.test.ts',
    test: 'the order of the queue > is the order of creation wherever the counter stands, also when it wraps round on the way',
  },
  {
    name: 'circular-order',
    what: 'numbers that others have made up are compared with each other',
    danger: 'they go round in a circle, and one that is ahead is sorted behind: two are first',
    edits: [
      {
        file: 'lock/queue/sequence-overflow.ts',
        from: 'queueOf(children, parse, own)',
        to: 'queueOf(children, parse)',
      },
    ],
    file: 'unit/lock/queue/sequence-overflow.test.ts',
    test: 'the order of creation > is that of the numbers a server gave, whatever numbers others have made up',
  },
  {
    name: 'lease-from-reply',
    what: 'a lease counts from when the reply came',
    danger: 'a reply that was under way for long begins a lease that others have waited out',
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
    danger: 'a server without a quorum answers them: the lease goes on after the node was given away',
    edits: [
      {
        file: 'session/connection/heartbeat.ts',
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
    what: 'an unclean end is not waited out',
    danger: 'the former leader may be cut off from the servers, and act on its lease: two leaders',
    edits: [
      { file: 'election/term/claim-rules.ts', from: 'if (waitedMs < delayMs) ', to: 'if (waitedMs < 0) ' },
    ],
    file: 'unit/precautions.test.ts',
    test: 'a leader whose node the servers have given away > is not succeeded as long as its own lease lasts, though it has not heard of it',
  },
  {
    name: 'sequence-as-term-token',
    what: "a term's token is the number of the leader's node",
    danger:
      'it wraps round, begins anew when the election is deleted, and falls when one is called out of turn',
    edits: [
      {
        file: 'election/term/claimant.ts',
        from: 'token: zxid,',
        to: 'token: BigInt(contender.entry.sequence),',
      },
    ],
    file: 'unit/precautions.test.ts',
    test: 'a token > rises from term to term, also when the election was deleted in between',
  },
  {
    name: 'sequence-as-lock-token',
    what: "a hold's token is the number of its node",
    danger:
      "it wraps round, and begins anew when the lock's path is deleted: what is protected refuses the holder",
    edits: [
      {
        file: 'lock/queue/join.ts',
        from: '{ path, entry: entryOf(path), czxid, sentAt, listing }',
        to: '{ path, entry: entryOf(path), czxid: BigInt(entryOf(path).sequence), sentAt, listing }',
      },
    ],
    file: 'unit/precautions.test.ts',
    test: 'a token > rises from hold to hold, also when the lock was deleted in between',
  },
  {
    name: 'path-only-ownership',
    what: 'a node of our name is ours, whatever session it belongs to',
    danger: "a former session's node is adopted, and goes when the servers notice that that session is over",
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
      'the first one is still there: no contender owns the second, and none deletes it while the session lives',
    edits: [
      {
        file: 'lock/queue/contender.ts',
        from: 'EphemeralNode.of(session, path, sentAt);',
        to: `EphemeralNode.of(session, path, sentAt);
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
    what: 'a session that has expired goes on as a new one, as if it had been reconnected',
    danger: "its nodes are gone, and their holders aren't notified",
    edits: [
      {
        file: 'session/server-search.ts',
        from: `connection.destroy(new SessionExpiredError('the session has expired'));
          return this.expire('the session has expired');`,
        to: `connection.destroy(new SessionExpiredError('the session has expired'));
          this.#identity = withoutCredentials(this.#identity);
          continue;`,
      },
    ],
    file: 'unit/precautions.test.ts',
    test: 'a session that comes back > too late is over, with all that was held by it, and is not begun anew behind its holders',
  },
  {
    name: 'release-before-work-settles',
    what: 'a term is given back as soon as it has ended',
    danger: 'the next leader acts while the work of this one still runs',
    edits: [
      {
        file: 'election/elector-lifecycle.ts',
        from: 'await term.settled(() => this.#onOverrun(term));',
        to: 'void term.settled(() => this.#onOverrun(term));',
      },
    ],
    file: 'unit/precautions.test.ts',
    test: 'the end of a term > is known to no other candidate before the work of the term has settled',
  },
  {
    name: 'hook-not-awaited',
    what: 'the clean-up hook is called, and not waited for',
    danger: 'the next candidacy begins, and may lead, with the state of the lost one',
    edits: [
      {
        file: 'cluster/supervisor/cleanup-hook.ts',
        from: 'const decision = await Promise.race([callHook(hook, known), late]);',
        to: `callHook(hook, known).catch(() => undefined);
    const decision = (await Promise.race([undefined, late])) as unknown;`,
      },
    ],
    file: 'unit/precautions.test.ts',
    test: 'the clean-up hook > has come to its end before its process joins the election again',
  },
  {
    name: 'no-hook-at-stop',
    what: 'a stop after the loss of a session leaves out the clean-up hook',
    danger: 'what the lost session has left behind stays, and no caller learns of it',
    edits: [
      {
        file: 'cluster/supervisor/candidacy-loop.ts',
        from: 'if (loss === undefined || (await',
        to: 'if (loss === undefined || this.#stop.signal.aborted || (await',
      },
    ],
    file: 'unit/outstanding-cleanup.test.ts',
    test: 'a supervisor that is stopped after the loss of a session > cleans up all the same when the work of the lost term has still to settle',
  },
  {
    name: 'flag-for-lease',
    what: 'whether something is held is what was last reported, not what the clock says',
    danger:
      'after a process has stood still, timers run before any event: it acts on a lease that is long over',
    edits: [
      {
        file: 'lease/hold.ts',
        from: 'if (this.#node.isHeld()) return true;',
        to: 'return true;',
      },
    ],
    file: 'unit/precautions.test.ts',
    test: 'a lease > is over when a process goes on that has been stopped, before any event has reported it',
  },
  {
    name: 'ahead-gone-is-turn',
    what: 'the end of the one ahead means "my turn", whatever else is left ahead',
    danger: 'one in the middle of the queue gives up, and two hold (etcd3 #176, Curator #115)',
    edits: [
      {
        file: 'lock/queue/turn-wait.ts',
        from: "this.#state = missing === 1 ? 'next' : 'blocked';",
        to: "this.#state = missing >= 1 ? 'next' : 'blocked';",
      },
    ],
    file: 'unit/precautions.test.ts',
    test: 'the end of the one ahead > is not the turn of the one behind it while another contender is left ahead',
  },
  {
    name: 'guess-from-vacant',
    what: 'the version after a vacant record is predicted as well as that after a held one',
    danger: "it is a claim's: the next in the queue overwrites the record of a leader, without any delay",
    edits: [
      {
        file: 'election/nodes/record.ts',
        from: "if (record.state !== 'held' || record.node !== ahead || version % 2 === 0) return undefined;",
        to: "if (record.state === 'unreadable') return undefined;",
      },
    ],
    file: 'unit/election/nodes/record.test.ts',
    test: 'the next in the queue > predicts nothing from any other record: the next write may be a claim',
  },
  {
    name: 'demoted-before-signal',
    what: "`demoted` is emitted before the term's signal aborts",
    danger: 'a listener of the end of the term still sees it held, and lets work go on',
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
    what: 'a lease gets longer when a reconnect is granted a longer session timeout',
    danger: "the election's record says how long to wait for us, and was written before",
    edits: [
      {
        file: 'session/identity.ts',
        from: 'const grantedMs = isKnown(identity) ? Math.min(identity.leaseMs, fitting) : fitting;',
        to: 'const grantedMs = fitting;',
      },
    ],
    file: 'unit/precautions.test.ts',
    test: 'a lease > does not get longer when a reconnect is granted a longer session timeout',
  },
  {
    name: 'insist-on-zxid',
    what: 'a handshake shows what the session has seen for ever',
    danger:
      'servers that have lost their data never answer it: the session neither lives nor ends, and no replica leads',
    edits: [
      {
        file: 'session/connection/handshake-without-zxid.ts',
        from: 'return unservedMs > INSISTS_FOR_TIMEOUTS * sessionTimeoutMs;',
        to: 'return unservedMs > Number.POSITIVE_INFINITY * sessionTimeoutMs;',
      },
    ],
    file: 'unit/session/connection/handshake-without-zxid.test.ts',
    test: 'the zxid in a handshake > is shown for longer than an ensemble with a quorum keeps a silent session, and then no more',
  },
];
