interface Located {
  readonly path: string;
}

/** Compares by path, in the same way in every language of the machine. */
export function byPath(one: Located, other: Located): number {
  return one.path < other.path ? -1 : Number(one.path > other.path);
}

/** The path of a child, also of the root's. */
export function childPath(parent: string, name: string): string {
  return parent === '/' ? `/${name}` : `${parent}/${name}`;
}
