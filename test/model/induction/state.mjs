/**
 * The state of an election, for any number of candidates, terms, heartbeats and observations, in SMT-LIB.
 *
 * A candidate is its pair of nodes. A version of the record has one term at most. Times are real. `lease` is the longest time that a lease of
 * the candidate may really last, by any clock.
 */

/** The functions of a state: their arguments, and their results. @type {Readonly<Record<string, readonly [readonly string[], string]>>} */
export const STATE = {
  now: [[], 'Real'],
  newest: [[], 'Int'], // The version of the record.

  // What was written at a version of the record.
  held: [['Int'], 'Bool'], // It begins a term. Not all candidates can read it: one of another release may have written it.
  vacant: [['Int'], 'Bool'],
  emptied: [['Int'], 'Bool'], // A candidate emptied it. If none of the three is so, a stranger wrote it, and no candidate can read it.
  holder: [['Int'], 'Candidate'],
  says: [['Int'], 'Real'], // The lease that it says.
  began: [['Int'], 'Real'], // When it was written.

  // The term of that version.
  proved: [['Int'], 'Bool'], // The servers have carried out a claim or a proof of its holder.
  sent: [['Int'], 'Real'], // The latest sending of those.
  settled: [['Int'], 'Bool'], // Its work has settled, or its process is dead. Its holder no longer acts.

  // The nodes of a candidate.
  born: [['Candidate'], 'Bool'], // They were created.
  own: [['Candidate'], 'Bool'],
  beats: [['Candidate'], 'Bool'], // The heartbeat node is there.
  beat: [['Candidate'], 'Int'], // The version of the heartbeat node.

  // An answer that a candidate has got.
  made: [['Observation'], 'Bool'],
  of: [['Observation'], 'Int'], // The version of the record that it is about.
  at: [['Observation'], 'Real'], // When it came.
  ended: [['Observation'], 'Bool'], // It shows that one of the holder's nodes is gone, or an empty record.
  seen: [['Observation'], 'Int'], // Otherwise the version of the holder's heartbeat node.
};

/** The constants of a step: who sends it, when, and what it is about. @type {Readonly<Record<string, string>>} */
const CONSTANTS = {
  c: 'Candidate', // The sender.
  y: 'Candidate', // The successor.
  v: 'Int', // The version of the record that the sender knows.
  o: 'Observation',
  k: 'Int',
  s: 'Real', // When a request was sent.
  delay: 'Real',
  said: 'Real', // The lease that a record will say.
  without: 'Bool', // Whether the parts are left out that may be.
};

/** All that a question declares before its assertions. */
export const DECLARATIONS = [
  '(declare-sort Candidate 0)',
  '(declare-sort Observation 0)',
  '(declare-fun lease (Candidate) Real)',
  '(assert (forall ((a Candidate)) (< 0.0 (lease a))))',
  ...Object.entries(STATE).map(
    ([name, [args, result]]) => `(declare-fun ${name} (${args.join(' ')}) ${result})`,
  ),
  ...Object.entries(CONSTANTS).map(([name, sort]) => `(declare-const ${name} ${sort})`),
].join('\n');

/**
 * What a step requires, and what it changes: for a function of the state, its value for the argument `a`.
 *
 * @typedef {object} Step
 * @property {string} name
 * @property {readonly string[]} requires
 * @property {Readonly<Record<string, string>>} changes
 */

/** The state after a step: the same names with a `1`. @param {Step} step */
export function after({ changes }) {
  return Object.entries(STATE)
    .map(([name, [args, result]]) => {
      const same = args.length === 0 ? name : `(${name} a)`;
      return `(define-fun ${name}1 (${args.map((sort) => `(a ${sort})`).join(' ')}) ${result} ${changes[name] ?? same})`;
    })
    .join('\n');
}

/** At one argument another value. @param {string} name @param {string} argument @param {string} value */
export function at(name, argument, value) {
  return { [name]: `(ite (= a ${argument}) ${value} (${name} a))` };
}
