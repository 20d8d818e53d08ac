import type { NodeData } from '../../session/protocol/records.js';
import type { Session } from '../../session/session.js';
import type { ServerClock } from '../model/server-clock.js';
import type { TreeListener } from '../model/tree-listener.js';
import type { ReadSlots } from './read-slots.js';

/** What all that reads with one session has in common. */
export interface Reading {
  readonly session: Session;
  readonly slots: ReadSlots;
  readonly listener: TreeListener;
  readonly serverClock: ServerClock;
  /** Until `done` is called, not all was read. */
  begin(): () => void;
  /** Reads a node that may be gone. */
  read(path: string): Promise<NodeData | undefined>;
  /** Handles what a read was refused with: the end of the session needs no handling. */
  refused(path: string, error: unknown): void;
  /** `false`: so many nodes are looked at that this one isn't. */
  count(by: 1 | -1, path: string): boolean;
  /** @param sentence - `undefined`: nothing is left out there any more */
  limit(path: string, sentence: string | undefined): void;
}
