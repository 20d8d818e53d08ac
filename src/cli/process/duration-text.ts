const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
] as const;

/** A duration in milliseconds as a text for people, in its two largest units: `3d 4h`, `2m 5s`, `12s`, `820ms`. Rounded down. */
export function durationText(ms: number): string {
  const index = UNITS.findIndex(([, size]) => ms >= size);
  const [first, second] = index < 0 ? [] : UNITS.slice(index, index + 2);
  if (first === undefined) return `${Math.floor(ms)}ms`;
  const [name, size] = first;
  const whole = `${Math.floor(ms / size)}${name}`;
  const rest = second === undefined ? 0 : Math.floor((ms % size) / second[1]);
  return rest === 0 || second === undefined ? whole : `${whole} ${rest}${second[0]}`;
}
