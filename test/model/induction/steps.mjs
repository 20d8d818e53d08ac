/**
 * The steps of an election: those of its table of writes, and all that happens beside them. Each step may happen at any time, with any
 * candidates.
 *
 * A write of the table is carried out at any time after its sending, or never. Its sender knows what an answer has shown, however old that is.
 */
import { at } from './state.mjs';
import { WRITES } from './writes.mjs';

/** @import { Step } from './state.mjs' */
/** @import { NodeName, Part, Write } from './writes.mjs' */

/** What the sender of a write knows. @satisfies {Record<string, readonly string[]>} */
export const KNOWS = {
  nothing: [],
  /** The record named the sender at version `v`, with a lease that is long enough. */
  isNamed: ['(<= 0 v)', '(<= v newest)', '(held v)', '(= (holder v) c)', '(<= (lease c) (says v))'],
  /** The same, and all work of the term has settled, or the process is dead and the sender has taken its session. */
  hasSettled: ['(<= 0 v)', '(<= v newest)', '(held v)', '(= (holder v) c)', '(settled v)'],
  isNotNamed: ['(<= 0 v)', '(<= v newest)', '(not (and (held v) (= (holder v) c)))'],
  isVacant: ['(<= 0 v)', '(<= v newest)', '(vacant v)'],
  /** The record names the sender with a lease that is shorter than its own. So it has sent no proof. */
  isNamedTooShortly: ['(<= 0 v)', '(<= v newest)', '(held v)', '(= (holder v) c)', '(< (says v) (lease c))'],
  /** No other version of the heartbeat node was seen for the time that the record says. */
  isSilent: [
    '(made o)',
    '(= (of o) v)',
    '(held v)',
    '(not (ended o))',
    '(= (seen o) k)',
    '(<= (says v) delay)',
  ],
  /** A node of the holder was seen gone, for the time that the record says. */
  isGone: ['(made o)', '(= (of o) v)', '(held v)', '(ended o)', '(<= (says v) delay)'],
  /** The record was seen empty, for the longest lease of the terms before it. */
  isEmpty: [
    '(made o)',
    '(= (of o) v)',
    '(emptied v)',
    '(forall ((u Int)) (=> (and (<= 0 u) (< u v) (held u)) (<= (lease (holder u)) delay)))',
  ],
};

const IS_OUTLASTED = '(<= (+ (at o) delay) s)';

/** The steps that are rows of the table: the write, and what its sender knows. @type {readonly (readonly [string, Write, readonly string[]])[]} */
const FROM_TABLE = [
  ['a candidate joins', WRITES.join, KNOWS.nothing],
  ['a proof', WRITES.proof, KNOWS.isNamed],
  ['a look after a lost reply', WRITES.barrier, KNOWS.nothing],
  ['a claim over a vacant record', WRITES.claim, KNOWS.isVacant],
  ['a claim over a record that says too short a lease', WRITES.claim, KNOWS.isNamedTooShortly],
  ['a claim over a holder that is gone', WRITES.claim, [...KNOWS.isGone, IS_OUTLASTED]],
  ['a claim over an empty record', WRITES.claim, [...KNOWS.isEmpty, IS_OUTLASTED]],
  ['a record is emptied', WRITES.empty, KNOWS.nothing],
  ['a takeover', WRITES.takeover, [...KNOWS.isSilent, IS_OUTLASTED]],
  ['a takeover without a heartbeat node', WRITES.takeoverOfMissing, [...KNOWS.isGone, IS_OUTLASTED]],
  ['a term of a holder that is gone is passed on', WRITES.passOn, [...KNOWS.isGone, IS_OUTLASTED]],
  ['a term behind an empty record is passed on', WRITES.passOn, [...KNOWS.isEmpty, IS_OUTLASTED]],
  ['a term of a silent holder is passed on', WRITES.passOnTakeover, [...KNOWS.isSilent, IS_OUTLASTED]],
  ['a hand-over to the first', WRITES.handOver, KNOWS.hasSettled],
  ['a hand-over to another', WRITES.handOverToChosen, KNOWS.hasSettled],
  ['a release', WRITES.release, KNOWS.hasSettled],
  ['a candidate leaves', WRITES.leave, KNOWS.isNotNamed],
  ['a guarded write', WRITES.guarded, KNOWS.isNamed],
];

/** What happens beside the table: time, faults, answers, and a stranger. @type {readonly Step[]} */
const BESIDE_TABLE = [
  { name: 'time passes', requires: ['(<= now s)'], changes: { now: 's' } },
  { name: 'the work of a term settles', requires: [], changes: at('settled', 'v', 'true') },
  { name: 'an own node goes', requires: ['(own c)'], changes: at('own', 'c', 'false') },
  { name: 'a heartbeat node goes', requires: ['(beats c)'], changes: at('beats', 'c', 'false') },
  {
    name: 'both nodes go',
    requires: ['(own c)', '(beats c)'],
    changes: { ...at('own', 'c', 'false'), ...at('beats', 'c', 'false') },
  },
  // By another client. Or by a proof that was sent before its sender knew whether the record named it, and that found another's name.
  {
    name: 'a heartbeat node is written, and no lease begins',
    requires: ['(beats c)'],
    changes: at('beat', 'c', '(+ (beat c) 1)'),
  },
  {
    name: 'a heartbeat is seen',
    requires: ['(<= 0 v)', '(<= v newest)', '(held v)', '(<= k (beat (holder v)))'], // A server that lags shows an older version.
    changes: observed('false', 'k'),
  },
  {
    name: 'an end is seen',
    requires: [
      ...['(<= 0 v)', '(<= v newest)', '(held v)'],
      '(or (not (own (holder v))) (not (beats (holder v))))',
    ],
    changes: observed('true', 'k'),
  },
  {
    name: 'an empty record is seen',
    requires: ['(<= 0 v)', '(<= v newest)', '(emptied v)'],
    changes: observed('true', 'k'),
  },
  {
    name: 'a stranger writes the record, and no candidate can read it',
    requires: [],
    changes: written({}),
  },
];

/** Another client writes a record that candidates can read: an older one, a vacant one, or one that names any candidate. @type {Step} */
export const READABLE_STRANGER = {
  name: 'a stranger writes the record, and candidates can read it',
  requires: [],
  changes: written({ held: 'without', vacant: '(not without)', holder: 'y', says: 'said' }),
};

/** An answer has come. @param {string} ended @param {string} seen */
export function observed(ended, seen) {
  const values = { made: 'true', of: 'v', at: 'now', ended, seen };
  // What was known by that name before is forgotten.
  return Object.assign({}, ...Object.entries(values).map(([name, value]) => at(name, 'o', value)));
}

/** The record has its next version. @param {Readonly<Record<string, string>>} values */
function written(values) {
  const unset = { held: 'false', vacant: 'false', emptied: 'false', proved: 'false', settled: 'false' };
  const all = { ...unset, began: 'now', ...values };
  const changes = Object.entries(all).map(([name, value]) => at(name, '(+ newest 1)', value));
  return Object.assign({ newest: '(+ newest 1)' }, ...changes);
}

/** @type {Readonly<Record<Exclude<NodeName, 'record'>, readonly [there: string, candidate: string]>>} */
const NODES = {
  own: ['own', 'c'],
  heartbeat: ['beats', 'c'],
  "holder's own": ['own', '(holder v)'],
  "holder's heartbeat": ['beats', '(holder v)'],
  "successor's own": ['own', 'y'],
};

/**
 * The step in which the servers carry out a write: each part in order, by what the parts before it have done.
 *
 * @param {string} name
 * @param {Write} write
 * @param {readonly string[]} known what its sender knows
 * @returns {Step}
 */
export function carriedOut(name, { parts, begins }, known) {
  const requires = ['(<= s now)', ...known];
  /** @type {Record<string, string>} */
  const changes = {};
  /** @param {string} of @param {string} argument */
  const value = (of, argument) => `(let ((a ${argument})) ${changes[of] ?? `(${of} a)`})`;
  /** @param {string} of @param {string} argument @param {string} to */
  const change = (of, argument, to) => {
    changes[of] = `(ite (= a ${argument}) ${to} ${changes[of] ?? `(${of} a)`})`;
  };
  for (const part of parts) {
    if (part.node === 'record') {
      if (part.version !== undefined) requires.push('(= newest v)');
      if (part.content !== undefined) Object.assign(changes, written(recordOf(part, begins)));
      continue;
    }
    const [there, candidate] = NODES[part.node];
    if (part.kind === 'create') {
      requires.push('(not (born c))');
      change(there, candidate, 'true');
      if (there === 'beats') change('born', candidate, 'true');
      continue;
    }
    requires.push(part.ifThere ? `(or without ${value(there, candidate)})` : value(there, candidate));
    if (part.version === 'k') requires.push(`(= ${value('beat', candidate)} k)`);
    if (part.kind === 'delete')
      change(there, candidate, part.ifThere ? `(and without ${value(there, candidate)})` : 'false');
    if (part.kind === 'set' && there === 'beats')
      change('beat', candidate, `(+ ${value('beat', candidate)} 1)`);
  }
  // The lease of a term that has begun already.
  if (begins && changes.newest === undefined)
    Object.assign(
      changes,
      at('proved', 'v', 'true'),
      at('sent', 'v', '(ite (and (proved v) (< s (sent v))) (sent v) s)'),
    );
  return { name, requires, changes };
}

/** @param {Part} part @param {true | undefined} begins @returns {Record<string, string>} */
function recordOf({ content }, begins) {
  if (content === 'vacant') return { vacant: 'true' };
  if (content === 'empty') return { emptied: 'true' };
  if (content === 'held by the successor') return { held: 'true', holder: 'y', says: 'said' };
  return { held: 'true', holder: 'c', says: '(lease c)', ...(begins && { proved: 'true', sent: 's' }) };
}

/** All steps. @type {readonly Step[]} */
export const STEPS = [
  ...FROM_TABLE.map(([name, write, known]) => carriedOut(name, write, known)),
  ...BESIDE_TABLE,
];
