/** Wrong versions of the rules for the ownership of shards: `src/shards/README.md`. */
/** @import { Mutant } from './mutants.mjs' */

const OWNER = 'unit/shards/ownership/shard-owner.test.ts';
const WATCH = 'unit/shards/members/member-watch.test.ts';
const GROUP = 'unit/shards/group-member.test.ts';
const RECORDS = 'unit/shards/ownership/shard-records.test.ts';

/** @type {readonly Mutant[]} */
export const SHARD_MUTANTS = [
  {
    name: 'shard-claim-without-node',
    what: "a claim of a shard doesn't check the member's own node",
    danger: 'a record names a member with a tombstone again, and that tombstone is removed: all members wait',
    edits: [
      {
        file: 'shards/ownership/shard-records.ts',
        from: '(others) => node.commit([...parts, ...others])',
        to: '(others) => session.commit([...parts, ...others])',
      },
    ],
    file: OWNER,
    test: 'a claim of a shard > is refused if the member’s node is gone',
  },
  {
    name: 'shard-claim-without-tombstone',
    what: "a claim over a held record doesn't check the holder's tombstone",
    danger:
      'the claim relies on an earlier read, and nothing at the servers says that the holder acts no more',
    edits: [
      {
        file: 'shards/ownership/shard-records.ts',
        from: "parts: [{ kind: 'check', path: this.#paths.tombstoneOf(value.node) }]",
        to: 'parts: []',
      },
    ],
    file: OWNER,
    test: 'a claim of a shard > is refused if the tombstone that it was begun for is gone',
  },
  {
    name: 'shard-taken-by-its-record',
    what: 'a member owns any shard whose record names it',
    danger:
      'a server that is behind, or has lost the release, shows an old claim: two terms with one token, and perhaps another owner',
    edits: [
      {
        file: 'shards/ownership/unanswered-claims.ts',
        from: "if (version === claimed) return 'claimed';",
        to: "if (claimed === undefined || version >= claimed) return 'claimed';",
      },
    ],
    file: OWNER,
    test: 'a claim of a shard > that was given back begins no second term when a server shows it once more: it is given back again',
  },
  {
    name: 'shard-return-believed',
    what: 'a member never reads the records of shards that it has given back',
    danger:
      'if the servers take a release back after a move, no member owns the shard until its former owner leaves',
    edits: [
      {
        file: 'shards/ownership/shard-claims.ts',
        from: 'if (!this.#hasStopped) this.#doubted = new Set([...this.#doubted, ...this.#returned]);',
        to: '',
      },
    ],
    file: OWNER,
    test: 'a claim of a shard > that was given back in a move is so again over the next connection, if the servers have taken the release back',
  },
  {
    name: 'shard-burial-believed',
    what: 'a planner that has read that no record names a member that is gone never reads the records again over another connection',
    danger:
      'if the servers take back the burial of a member, its shards have no owner until a member comes or goes',
    edits: [
      {
        file: 'shards/group-member.ts',
        from: `    this.#owner.resumed();
    this.#planning.readAll();`,
        to: '    this.#owner.resumed();',
      },
    ],
    file: GROUP,
    test: 'a member of a group of shards > owns a shard over the next connection though the servers have taken back the burial of its owner',
  },
  {
    name: 'shard-owned-without-lease',
    what: 'a claim that is answered after the lease is over begins a term',
    danger: 'the member hears that it has acquired a shard that another member may own by then',
    edits: [
      {
        file: 'shards/ownership/shard-claims.ts',
        from: 'if (node.isHeld()) return this.#port.own(shard, claim);',
        to: 'if (!node.isGone) return this.#port.own(shard, claim);',
      },
    ],
    file: OWNER,
    test: 'a claim of a shard > that is answered when the lease is over begins no term: its record is read behind the next heartbeat',
  },
  {
    name: 'shard-fence-without-record',
    what: "a guarded write of a shard checks only the member's node",
    danger:
      'the node still exists after the shard was given away: the former owner writes beside the next owner',
    edits: [
      {
        file: 'shards/ownership/owned-shard.ts',
        from: 'ended, { path, version, absolutePath: this.#absoluteRecord });',
        to: 'ended);',
      },
    ],
    file: GROUP,
    test: 'a member of a group of shards > is refused a guarded write of a shard that it has given back, though its node is there',
  },
  {
    name: 'tombstone-at-any-version',
    what: "a tombstone depends on no version of the member's heartbeat node",
    danger: 'a member that has just sent a heartbeat loses its shards to others, and acts on its new lease',
    edits: [
      {
        file: 'shards/members/member-watch.ts',
        from: 'heartbeatNodeOf(node)}`, version },',
        to: 'heartbeatNodeOf(node)}` },',
      },
    ],
    file: WATCH,
    test: 'the watch of a group’s members > writes none of a member whose heartbeat comes right before it',
  },
  {
    name: 'tombstone-by-an-old-connection',
    what: 'a tombstone relies on a read over an earlier connection',
    danger: 'in a restored backup heartbeats come to that version again, and the member has a lease',
    edits: [
      {
        file: 'shards/members/member-watch.ts',
        from: '(connectionNumber === undefined || sign.connection !== connectionNumber)',
        to: 'ms > 0',
      },
    ],
    file: WATCH,
    test: 'the watch of a group’s members > writes none of a member whose heartbeats come to a version again that was seen before an outage, as in a restored backup',
  },
  {
    name: 'tombstone-at-once',
    what: 'an absent member gets a tombstone at once',
    danger: 'the member acts on its last lease, and doesn’t know yet that its session has ended',
    edits: [
      {
        file: 'shards/members/member-watch.ts',
        from: 'if (ms > 0) {',
        to: "if (ms > 0 && sign.name !== 'gone') {",
      },
    ],
    file: WATCH,
    test: 'the watch of a group’s members > counts the delay of a member that is gone from the servers’ proof, not from the listing that didn’t show it',
  },
  {
    name: 'tombstone-by-belief',
    what: 'others believe that a member is gone if a listing doesn’t show it',
    danger: 'a live member whose name was missed gets a tombstone: two owners',
    edits: [
      {
        file: 'shards/members/member-watch.ts',
        from: `      { kind: 'create', path, data: NO_DATA },
      { kind: 'delete', path },
`,
        to: '',
      },
    ],
    file: WATCH,
    test: 'the watch of a group’s members > writes none of a live member that no listing shows',
  },
  {
    name: 'tombstone-proved-late',
    what: 'the servers prove only at the tombstone that a member is gone',
    danger: 'its session may have ended just before: its last lease still lasts',
    edits: [
      {
        file: 'shards/members/member-watch.ts',
        from: 'await this.#session.commit(this.#absence(node));',
        to: '',
      },
    ],
    file: WATCH,
    test: 'the watch of a group’s members > counts the delay of a member that is gone from the servers’ proof, not from the listing that didn’t show it',
  },
  {
    name: 'tombstone-removed-early',
    what: 'a tombstone is removed though a record names its member',
    danger: 'no member can claim that shard until another delay is over',
    edits: [
      {
        file: 'shards/planner/planner.ts',
        from: '.filter((name) => !named.has(name));',
        to: '.filter((name) => name !== String(named));',
      },
    ],
    file: WATCH,
    test: 'a planner > leaves a tombstone as long as a record names its member',
  },
  {
    name: 'tombstones-listed-late',
    what: 'a planner reads the records before it lists the tombstones',
    danger:
      'a member claims a shard and gets a tombstone in between: it is removed though the record names the member',
    edits: [
      {
        file: 'shards/planner/planner-snapshot.ts',
        from: `  const listing = session.retryUntilAnswered(() => session.getChildren(paths.tombstones), signal);
  const reading = readNodes(read, !knowsTheGone);
`,
        to: `  const reading = readNodes(read, !knowsTheGone);
  await reading;
  const listing = session.retryUntilAnswered(() => session.getChildren(paths.tombstones), signal);
`,
      },
    ],
    file: RECORDS,
    test: 'the records of shards > are read by a planner after it has listed the tombstones',
  },
  {
    name: 'plan-before-a-look',
    what: 'a planner plans before it has listed the members',
    danger: 'the planner takes live members for absent, and plans for none of them',
    edits: [
      {
        file: 'shards/planner/planner.ts',
        from: 'if (!watch.hasLooked) return;',
        to: '',
      },
    ],
    file: WATCH,
    test: 'a planner > plans nothing before all members have been looked at',
  },
];
