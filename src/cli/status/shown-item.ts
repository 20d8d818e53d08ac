import { printable } from '../../platform/printable.js';

/** An election, a lock or a group of shards, in each form in which `status` shows it. */
export interface ShownItem {
  readonly path: string;
  readonly kind: 'election' | 'lock' | 'group';
  /** In one line, without the values that change all the time. */
  readonly line: string;
  /** As `--json` prints it, besides its path and kind. */
  readonly facts: object;
  /** Whether there is a leader, a holder, or an owner of each shard. */
  readonly isServed: boolean;
  /**
   * Its row in the table.
   * @param nowMs - the time by the clock of the views, in milliseconds since 1970
   */
  row(nowMs: number): string[];
  /** The lines of a page that has nothing else. */
  details(nowMs: number): string[];
}

/** Stands for a path that was named and at which there is nothing. */
export function absentItem(path: string): ShownItem {
  return {
    ...{ path, kind: 'election', line: `${printable(path)}  absent` },
    facts: { state: 'absent', leader: null },
    isServed: false,
    row: () => [printable(path), '-', 'absent', '-', '-', '-', '-', '-'],
    details: () => ['there is no such election'],
  };
}

/** The member that comes first has the path, and the kind as its name. */
export function itemJson({ kind, path, facts }: Pick<ShownItem, 'kind' | 'path' | 'facts'>): object {
  return { [kind]: path, ...facts };
}
