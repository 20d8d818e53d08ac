const FIRST_MS = 100;
const LONGEST_MS = 5000;

/**
 * How long to stay out of the queue after so many terms or tries in a row came to nothing at once: longer each time,
 * and with jitter, so that a candidate whose work can't start neither spins nor wins every other election.
 *
 * @param random - evenly distributed over [0, 1)
 */
export function cooldownMs(setbacks: number, random: number): number {
  return Math.min(LONGEST_MS, FIRST_MS * 2 ** (setbacks - 1)) * (0.5 + random / 2);
}
