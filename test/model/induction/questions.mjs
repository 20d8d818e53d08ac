/**
 * The questions of the proof, for Z3. `unsat` means that nothing can be as the question asks.
 *
 * - Does the invariant exclude what must never be, and hold at first?
 * - Does each step keep it? Is each step possible where it holds?
 * - Does each wrong step break it? Each leaves out one precaution. If none were necessary for the proof, the proof would show nothing.
 */
import { EXCLUDED, FIRST, invariant, POSSIBLE, WEAKLY_EXCLUDED, weakInvariant } from './invariant.mjs';
import { after, at, DECLARATIONS } from './state.mjs';
import { carriedOut, KNOWS, observed, READABLE_STRANGER, STEPS } from './steps.mjs';
import { WRITES } from './writes.mjs';

/** @import { Answer } from '../../../tools/z3/solve.mjs' */
/** @import { Step } from './state.mjs' */
/** @import { Part, Write } from './writes.mjs' */

/**
 * @typedef {object} Question
 * @property {string} name
 * @property {string} text in SMT-LIB
 * @property {Answer} expected
 */

const { proof, claim, takeover, handOver, release, guarded, join } = WRITES;

/** @param {Write} write @param {(part: Part) => boolean} keeps */
const only = (write, keeps) => ({ ...write, parts: write.parts.filter(keeps) });

/** @param {Write} write @param {Part['version']} version */
const without = (write, version) => ({
  ...write,
  parts: write.parts.map((part) => (part.version === version ? { ...part, version: undefined } : part)),
});

/** @param {readonly string[]} requires @param {string} left */
const except = (requires, left) => requires.filter((each) => each !== left);

const OUTLASTED = '(<= (+ (at o) delay) s)';
const AT_ONCE = '(<= (at o) s)';
const SETTLED = '(settled v)';

/** @param {string} name @returns {Step} */
function step(name) {
  const found = STEPS.find((each) => each.name === name);
  if (found === undefined) throw new Error(`no step: ${name}`);
  return found;
}

/** @type {readonly Step[]} */
export const WRONG = [
  carriedOut(
    'a proof does not check the record',
    only(proof, ({ node }) => node !== 'record'),
    KNOWS.isNamed,
  ),
  carriedOut(
    'a proof does not check the own node',
    only(proof, ({ node }) => node !== 'own'),
    KNOWS.isNamed,
  ),
  carriedOut(
    'a proof raises no version',
    only(proof, ({ node }) => node !== 'heartbeat'),
    KNOWS.isNamed,
  ),
  carriedOut('the record is taken for a lease', { ...proof, parts: [] }, [...KNOWS.isNamed, '(= s now)']),
  carriedOut(
    'a leader proves a longer lease than the record says',
    proof,
    except(KNOWS.isNamed, '(<= (lease c) (says v))'),
  ),
  {
    ...step('a proof'),
    name: 'a lease counts from the reply',
    requires: except(step('a proof').requires, '(<= s now)'),
  },
  carriedOut('a takeover at any version of the heartbeat node', without(takeover, 'k'), [
    ...KNOWS.isSilent,
    OUTLASTED,
  ]),
  carriedOut(
    'a takeover does not delete or check the heartbeat node',
    only(takeover, ({ node }) => !node.startsWith('holder')),
    [...KNOWS.isSilent, OUTLASTED],
  ),
  carriedOut('a claim at any version of the record', without(claim, 'v'), [...KNOWS.isGone, OUTLASTED]),
  carriedOut('a vacant record is claimed at any version', without(claim, 'v'), KNOWS.isVacant),
  carriedOut('a silent holder is not waited out', takeover, [...KNOWS.isSilent, AT_ONCE]),
  carriedOut('a holder that is gone is not waited out', claim, [...KNOWS.isGone, AT_ONCE]),
  carriedOut('an empty record is not waited out', claim, [...KNOWS.isEmpty, AT_ONCE]),
  carriedOut('the delay is shorter than the lease', claim, [
    ...KNOWS.isGone.map((each) => each.replace('(says v)', '(* 0.9 (says v))')),
    OUTLASTED,
  ]),
  // By what a candidate can't read, one of another release may lead, and go on sending proofs.
  carriedOut('a record that cannot be read is waited out and claimed, and not emptied before', claim, [
    ...['(<= 0 v)', '(<= v newest)', '(not (vacant v))', '(<= (began v) (at o))'],
    ...['(forall ((u Int)) (=> (and (<= 0 u) (<= u v) (held u)) (<= (lease (holder u)) delay)))', OUTLASTED],
  ]),
  carriedOut("an empty record is waited out for the claimant's own lease", claim, [
    ...['(made o)', '(= (of o) v)', '(emptied v)', '(<= (lease c) delay)'],
    OUTLASTED,
  ]),
  {
    ...carriedOut('a proof counts for an earlier term of its sender', proof, [
      ...KNOWS.isNamed,
      ...['(<= 0 k)', '(< k v)', '(held k)', '(= (holder k) c)', '(<= (lease c) (says k))'],
    ]),
    changes: { ...step('a proof').changes, ...at('proved', 'k', 'true'), ...at('sent', 'k', 's') },
  },
  {
    ...step('a heartbeat is seen'),
    name: 'the delay counts from the sending of the read',
    changes: {
      ...observed('false', 'k'),
      ...at('at', 'o', '(ite (<= (began v) s) (ite (<= s now) s now) now)'),
    },
  },
  carriedOut(
    'a term is handed over before its work has settled',
    handOver,
    except(KNOWS.hasSettled, SETTLED),
  ),
  carriedOut('a term is released before its work has settled', release, except(KNOWS.hasSettled, SETTLED)),
  READABLE_STRANGER,
  {
    ...carriedOut('', join, []),
    name: 'nodes that were deleted are made again',
    requires: ['(not (own c))', '(not (beats c))'],
  },
];

/** Steps that Conclave doesn't take, and that would keep the invariant: no safety depends on what they leave out. @type {readonly Step[]} */
export const HARMLESS = [
  carriedOut(
    'a takeover checks the heartbeat node at its version, and deletes nothing',
    checksOnly(takeover),
    [...KNOWS.isSilent, OUTLASTED],
  ),
  carriedOut(
    'a claim raises no version',
    only(claim, ({ node }) => node !== 'heartbeat'),
    KNOWS.isVacant,
  ),
  carriedOut(
    'a release deletes no node',
    only(release, ({ kind }) => kind !== 'delete'),
    KNOWS.hasSettled,
  ),
];

/** A deletion at a version becomes a check at that version, and other deletions are left out. @param {Write} write @returns {Write} */
function checksOnly(write) {
  const parts = write.parts.filter(({ kind, version }) => kind !== 'delete' || version !== undefined);
  return {
    ...write,
    parts: parts.map((part) => (part.kind === 'delete' ? { ...part, kind: 'check' } : part)),
  };
}

/** @param {readonly string[]} formulas */
const asserted = (...formulas) => formulas.map((formula) => `(assert ${formula})`).join('\n');

/** @param {string} name @param {Answer} expected @param {readonly string[]} texts @returns {Question} */
const asked = (name, expected, ...texts) => ({ name, expected, text: [DECLARATIONS, ...texts].join('\n') });

/** @param {Step} step */
const breaks = (step, kept = invariant) => [
  asserted(kept(''), ...step.requires),
  after(step),
  asserted(`(not ${kept('1')})`),
];

const NOT_NEWEST = '(< v newest)';
/** @param {Write} write */
const guard = (write) =>
  asserted(weakInvariant(''), ...carriedOut('', write, KNOWS.isNamed).requires, NOT_NEWEST);

/** @type {readonly { about: string, questions: readonly Question[] }[]} */
export const INDUCTION = [
  {
    about: 'excluded by the invariant',
    questions: [
      ...Object.entries(EXCLUDED).map(([name, bad]) => asked(name, 'unsat', asserted(invariant(''), bad))),
    ],
  },
  {
    about: 'holds',
    questions: [asked('at first', 'unsat', asserted(FIRST, `(not ${invariant('')})`))],
  },
  { about: 'is kept by', questions: STEPS.map((each) => asked(each.name, 'unsat', ...breaks(each))) },
  {
    about: 'is possible with',
    questions: [
      ...STEPS.map((each) => asked(each.name, 'sat', asserted(invariant(''), ...each.requires))),
      ...Object.entries(POSSIBLE).map(([name, state]) => asked(name, 'sat', asserted(invariant(''), state))),
    ],
  },
  {
    about: 'would be kept, too, if',
    questions: HARMLESS.map((each) => asked(each.name, 'unsat', ...breaks(each))),
  },
  {
    about: 'is excluded, whatever a stranger writes',
    questions: [
      ...Object.entries(WEAKLY_EXCLUDED).map(([name, bad]) =>
        asked(name, 'unsat', asserted(weakInvariant(''), bad)),
      ),
      asked('a guarded write is carried out after the record was written again', 'unsat', guard(guarded)),
    ],
  },
  {
    about: 'is kept, whatever a stranger writes, by',
    questions: [...STEPS, READABLE_STRANGER].map((each) =>
      asked(each.name, 'unsat', ...breaks(each, weakInvariant)),
    ),
  },
  {
    about: 'is broken if',
    questions: [
      ...WRONG.map((each) => asked(each.name, 'sat', ...breaks(each))),
      asked(
        'a guarded write checks the own node alone',
        'sat',
        guard(only(guarded, ({ node }) => node === 'own')),
      ),
    ],
  },
];
