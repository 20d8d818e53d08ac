/** From when to when somebody has acted for certain. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Each span that began before the end of one before it, with that one. @param spans - in the order in which they have to be */
export function overlapsIn<S extends Span>(spans: readonly S[]): (readonly [S, S])[] {
  const pairs: (readonly [S, S])[] = [];
  let latest: S | undefined;
  for (const span of spans) {
    if (latest !== undefined && span.from <= latest.to) pairs.push([latest, span]);
    if (latest === undefined || span.to > latest.to) latest = span;
  }
  return pairs;
}
