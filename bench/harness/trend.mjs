const STRETCHES = 12;

/**
 * By how much a value rises in an hour, by least squares through the means of twelve stretches. Samples of neighbors are alike, and would
 * make the error look smaller than it is.
 *
 * @param {readonly number[]} values at equal distances, twelve at least
 * @param {number} hours in which they were sampled
 * @returns {{ perHour: number, error: number }} `error` is the standard error of `perHour`
 * @throws RangeError if there are fewer values
 */
export function trendOf(values, hours) {
  if (values.length < STRETCHES)
    throw new RangeError(
      `a trend needs ${STRETCHES} samples, and there are ${values.length}: sample for longer`,
    );
  const means = Array.from({ length: STRETCHES }, (_, at) => {
    const end = Math.floor(((at + 1) * values.length) / STRETCHES);
    return meanOf(values.slice(Math.floor((at * values.length) / STRETCHES), end));
  });
  const mean = meanOf(means);
  const times = means.map((_, at) => ((at - (STRETCHES - 1) / 2) / STRETCHES) * hours);
  const spread = sum(times.map((time) => time ** 2));
  const perHour = sum(times.map((time, at) => (time * (means[at] ?? 0)) / spread));
  const rest = sum(times.map((time, at) => ((means[at] ?? 0) - mean - perHour * time) ** 2));
  return { perHour, error: Math.sqrt(rest / (STRETCHES - 2) / spread) };
}

/** @param {readonly number[]} values */
const sum = (values) => values.reduce((total, value) => total + value, 0);
/** @param {readonly number[]} values */
export const meanOf = (values) => sum(values) / values.length;
