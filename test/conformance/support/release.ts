/** A release of ZooKeeper: its three numbers. */
export type Release = readonly [major: number, minor: number, patch: number];

/** @param text - as a server or a jar says it: `3.9.5-293c895a…` */
export function parseRelease(text: string): Release {
  const [, major, minor, patch] = /^(\d+)\.(\d+)\.(\d+)/.exec(text) ?? [];
  if (patch === undefined) throw new Error(`${text}: expected a release of ZooKeeper, as 3.8.0`);
  return [Number(major), Number(minor), Number(patch)];
}

/**
 * Whether a release has what came with these: with the first of them that is of its own line (`3.8`), or if its line is a
 * newer one than theirs.
 */
export function hasWhatCameWith(release: Release, ...firsts: readonly string[]): boolean {
  const parsed = firsts.map(parseRelease);
  const ofLine = parsed.find(([major, minor]) => major === release[0] && minor === release[1]);
  if (ofLine !== undefined) return release[2] >= ofLine[2];
  return parsed.every(([major, minor]) => release[0] > major || (release[0] === major && release[1] > minor));
}
