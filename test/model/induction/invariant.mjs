/**
 * The invariant: what holds in every state that the steps of an election can reach, and what follows from it.
 *
 * Each is a function of a suffix: `''` for the state before a step, `1` for the state after it.
 */

/** @typedef {(s: string) => string} Part */

/** A record is held by a candidate that has joined, and its proofs begin no lease that is longer than it says. @type {Part} */
const records = (s) =>
  `(and (<= 0 newest${s}) (forall ((v Int)) (=> ${isVersion('v', s)} (and (<= (began${s} v) now${s}) (not (and (held${s} v) (or (vacant${s} v) (emptied${s} v)))) (not (and (vacant${s} v) (emptied${s} v)))
    (=> (proved${s} v) (and (held${s} v) (<= (sent${s} v) now${s}) (<= (lease (holder${s} v)) (says${s} v))))))))`;

/** @type {Part} */
const nodes = (s) =>
  `(and (forall ((c Candidate)) (=> (or (own${s} c) (beats${s} c)) (born${s} c)))
    (forall ((v Int)) (=> (and ${isVersion('v', s)} (held${s} v)) (born${s} (holder${s} v)))))`;

/** Each proof of a term was sent before the record was written over that term. @type {Part} */
const proofs = (s) =>
  `(forall ((u Int) (w Int)) (=> (and (<= 0 u) (< u w) (<= w newest${s}))
    (and (<= (began${s} u) (began${s} w)) (=> (proved${s} u) (<= (sent${s} u) (began${s} w))))))`;

/**
 * The heart: when a term began, or the record became vacant, the leases of all earlier terms were over, or their work had settled.
 *
 * @type {Part}
 */
const leases = (s) =>
  `(forall ((u Int) (w Int)) (=> (and (<= 0 u) (< u w) (<= w newest${s}) (proved${s} u) ${begins('w', s)})
    (or (settled${s} u) (<= (+ (sent${s} u) (lease (holder${s} u))) (began${s} w)))))`;

/** An answer that shows the newest version of a heartbeat node came after the sending of each proof. @type {Part} */
const versions = (s) =>
  `(forall ((o Observation)) (=> (made${s} o)
    (and ${isVersion(`(of${s} o)`, s)} (<= (began${s} (of${s} o)) (at${s} o)) (<= (at${s} o) now${s})
      (=> (and (held${s} (of${s} o)) (not (ended${s} o))) (and (<= (seen${s} o) (beat${s} ${holderOf(s)}))
        (=> (and (= (seen${s} o) (beat${s} ${holderOf(s)})) (proved${s} (of${s} o))) (<= (sent${s} (of${s} o)) (at${s} o))))))))`;

/** An answer that shows an end came after the sending of each proof, and no other proof can be carried out. @type {Part} */
const ends = (s) =>
  `(forall ((o Observation)) (=> (and (made${s} o) (ended${s} o)) (ite (held${s} (of${s} o))
    (and (or (not (own${s} ${holderOf(s)})) (not (beats${s} ${holderOf(s)})))
      (=> (proved${s} (of${s} o)) (<= (sent${s} (of${s} o)) (at${s} o))))
    (emptied${s} (of${s} o)))))`;

/** @param {string} v @param {string} s */
function isVersion(v, s) {
  return `(and (<= 0 ${v}) (<= ${v} newest${s}))`;
}

/** Whether a term begins with that version, or may begin without a delay. @param {string} v @param {string} s */
function begins(v, s) {
  return `(or (held${s} ${v}) (vacant${s} ${v}))`;
}

/** @param {string} s */
function holderOf(s) {
  return `(holder${s} (of${s} o))`;
}

/** @param {readonly Part[]} parts @returns {Part} */
const all =
  (...parts) =>
  (s) =>
    `(and ${parts.map((part) => part(s)).join('\n')})`;

/** If a stranger writes only what no candidate can read. */
export const invariant = all(records, nodes, proofs, leases, versions, ends);

/** Whatever a stranger writes. */
export const weakInvariant = all(records, proofs);

/** The first state: the election has just been made. */
export const FIRST = `(and (= newest 0) (vacant 0) (not (held 0)) (not (emptied 0)) (not (proved 0)) (<= (began 0) now)
  (forall ((a Candidate)) (not (or (born a) (own a) (beats a)))) (forall ((a Observation)) (not (made a))))`;

/** Whether the holder of that version acts: its lease lasts, and its work goes on. @param {string} v */
function acts(v) {
  return `(and ${isVersion(v, '')} (held ${v}) (proved ${v}) (not (settled ${v})) (< now (+ (sent ${v}) (lease (holder ${v})))))`;
}

/** What the invariant must exclude, by name. @type {Readonly<Record<string, string>>} */
export const EXCLUDED = {
  'two terms act at the same time': `(exists ((u Int) (w Int)) (and (< u w) ${acts('u')} ${acts('w')}))`,
  'a term acts, and a newer one has begun, or the record is vacant': `(exists ((u Int) (w Int))
    (and (< u w) (<= w newest) ${begins('w', '')} ${acts('u')}))`,
};

/** What the weak one must exclude. @type {Readonly<Record<string, string>>} */
export const WEAKLY_EXCLUDED = {
  'a term acts for longer than a lease after the record was written over it': `(exists ((u Int) (w Int))
    (and (< u w) (<= w newest) ${acts('u')} (<= (+ (began w) (lease (holder u))) now)))`,
};

/** What it must not exclude. @type {Readonly<Record<string, string>>} */
export const POSSIBLE = {
  'a term that acts': `(exists ((u Int)) ${acts('u')})`,
  'a term that acts, and a stranger that has written the record': `(exists ((u Int)) (and (< u newest) ${acts('u')}))`,
  'a term that acts, and an earlier one whose lease would last': `(exists ((u Int) (w Int))
    (and (< u w) (proved u) (< now (+ (sent u) (lease (holder u)))) ${acts('w')}))`,
};
