/**
 * The writes of an election, as data: which parts each transaction has, in order. The README of the election has the same table, the proof
 * takes its steps from it, and a test compares it with the transactions of the code.
 *
 * `v` is the version of the record that the sender has seen, or by which its term began. `k` is a version of the holder's heartbeat
 * node, and `n` one of the successor's own node.
 */

/** @typedef {'own' | 'heartbeat' | "holder's own" | "holder's heartbeat" | "successor's own" | 'record'} NodeName */

/** @typedef {'held by the sender' | 'held by the successor' | 'vacant' | 'empty' | 'you lead'} Content */

/**
 * @typedef {object} Part
 * @property {'create' | 'check' | 'set' | 'delete'} kind
 * @property {NodeName} node
 * @property {'v' | 'k' | 'n'} [version] the version that the node must have; any if it isn't given
 * @property {Content} [content] what is written
 * @property {true} [ifThere] the part is left out if another client has deleted the node. A guardian leaves it out, too: the node goes
 *   with the session
 */

/**
 * @typedef {object} Write
 * @property {string} name
 * @property {readonly Part[]} parts
 * @property {true} [begins] a lease begins with the sending of it
 * @property {true} [continues] further parts follow, which the caller of `term.transaction()` gives
 */

/** @type {Part} */
const CHECK_OWN = { kind: 'check', node: 'own' };
/** @type {Part} */
const RAISE = { kind: 'set', node: 'heartbeat' };
/** @type {Part} */
const CHECK_RECORD = { kind: 'check', node: 'record', version: 'v' };
/** @type {Part} */
const CHECK_SUCCESSOR = { kind: 'check', node: "successor's own" };
/** @type {Part} */
const MARK_SUCCESSOR = { kind: 'set', node: "successor's own", version: 'n', content: 'you lead' };
/** @type {readonly Part[]} */
const DELETE_HOLDER = [
  { kind: 'delete', node: "holder's heartbeat", version: 'k' },
  { kind: 'delete', node: "holder's own" },
];
/** @type {readonly Part[]} */
const DELETE_BOTH = [
  { kind: 'delete', node: 'own' },
  { kind: 'delete', node: 'heartbeat', ifThere: true },
];

/** @param {Content} content @returns {Part} */
const setRecord = (content) => ({ kind: 'set', node: 'record', version: 'v', content });
const NAME_SENDER = setRecord('held by the sender');
const NAME_SUCCESSOR = setRecord('held by the successor');

/** @satisfies {Record<string, Write>} */
export const WRITES = {
  join: {
    name: 'join',
    parts: [
      { kind: 'create', node: 'own' },
      { kind: 'create', node: 'heartbeat' },
    ],
  },
  proof: { name: 'proof, by a leader', parts: [CHECK_OWN, RAISE, CHECK_RECORD], begins: true },
  barrier: { name: 'look after a lost reply', parts: [CHECK_OWN] },
  claim: { name: 'claim', parts: [CHECK_OWN, RAISE, NAME_SENDER], begins: true },
  empty: { name: "empty a record that can't be read", parts: [CHECK_OWN, setRecord('empty')] },
  takeover: {
    name: 'takeover',
    parts: [CHECK_OWN, RAISE, ...DELETE_HOLDER, NAME_SENDER],
    begins: true,
  },
  takeoverOfMissing: {
    name: 'takeover, if the heartbeat node is missing',
    parts: [CHECK_OWN, RAISE, ...DELETE_HOLDER.slice(1), NAME_SENDER],
    begins: true,
  },
  passOn: { name: 'pass on, in place of a claim', parts: [CHECK_OWN, MARK_SUCCESSOR, NAME_SUCCESSOR] },
  passOnTakeover: {
    name: 'pass on, in place of a takeover',
    parts: [CHECK_OWN, ...DELETE_HOLDER, MARK_SUCCESSOR, NAME_SUCCESSOR],
  },
  handOver: {
    name: 'hand over to the first',
    parts: [...DELETE_BOTH, CHECK_SUCCESSOR, NAME_SUCCESSOR],
  },
  handOverToChosen: {
    name: 'hand over to another',
    parts: [...DELETE_BOTH, MARK_SUCCESSOR, NAME_SUCCESSOR],
  },
  release: { name: 'release, nobody there', parts: [...DELETE_BOTH, setRecord('vacant')] },
  leave: { name: 'leave, without a term', parts: [CHECK_RECORD, ...DELETE_BOTH] },
  guarded: { name: 'guarded write of a leader', parts: [CHECK_OWN, CHECK_RECORD], continues: true },
};

/** A write as a row of the table in the README of the election. @param {Write} write */
export function rowOf({ name, parts, continues }) {
  const cells = parts.map(textOf);
  return `| ${name} | ${[...cells, ...(continues ? ['the writes'] : [])].join(', ')} |`;
}

/** @param {Part} part */
function textOf({ kind, node, version, content, ifThere }) {
  const name = node === 'record' ? node : `${node} node`;
  const what = content === undefined ? name : `${name}: ${content}`;
  const given = [what, ...(version === undefined ? [] : [version])].join('; ');
  return `${kind}(${given}${ifThere ? ', if it is there' : ''})`;
}
