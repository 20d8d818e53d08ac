/** A release of ZooKeeper: its three numbers. */
export type Release = readonly [major: number, minor: number, patch: number];

/** @param text - a version as a server or a jar has it: `3.9.5-293c895a…` */
export function parseRelease(text: string): Release {
  const [, major, minor, patch] = /^(\d+)\.(\d+)\.(\d+)/.exec(text) ?? [];
  if (patch === undefined) throw new Error(`${text}: expected a release of ZooKeeper, as 3.8.0`);
  return [Number(major), Number(minor), Number(patch)];
}

/**
 * Whether a release has a change that came with the given releases. It does if it isn't older than the given release of its own
 * line (`3.8`). If none of them is of its line, it does if its line is newer than all of theirs.
 */
export function hasWhatCameWith(release: Release, ...firsts: readonly string[]): boolean {
  const parsed = firsts.map(parseRelease);
  const ofLine = parsed.find(([major, minor]) => major === release[0] && minor === release[1]);
  if (ofLine !== undefined) return release[2] >= ofLine[2];
  return parsed.every(([major, minor]) => release[0] > major || (release[0] === major && release[1] > minor));
}
