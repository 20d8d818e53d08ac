import { mean, quantile as quantileOf, sum } from 'simple-statistics';

export { mean, sum };

/**
 * Linear interpolation between the two nearest values, as R (type 7) and numpy do by default.
 *
 * @param {readonly number[]} values
 * @param {number} share from 0 to 1
 * @returns {number} `NaN` if there are no values
 */
export function quantile(values, share) {
  return values.length === 0 ? Number.NaN : quantileOf([...values], share);
}

/** @param {readonly number[]} values */
export function median(values) {
  return quantile(values, 0.5);
}

/** @param {number} value @param {number} [digits] */
export function rounded(value, digits = 1) {
  return Number(value.toFixed(digits));
}
