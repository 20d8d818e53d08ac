import type { NodeData } from '../../session/protocol/records.js';
import type { Session } from '../../session/session.js';
import type { TreeListener } from '../model/overview-model.js';
import type { ServerClock } from '../model/server-clock.js';
import type { ReadSlots } from './paced-reads.js';

/** What all readers with one session share. */
export interface Reading {
  readonly session: Session;
  readonly slots: ReadSlots;
  readonly listener: TreeListener;
  readonly serverClock: ServerClock;
  /** Begins a read. Not everything was read until the returned function is called. */
  begin(): () => void;
  /** Reads a node that may be gone. */
  read(path: string): Promise<NodeData | undefined>;
  /** Handles the error of a read. The end of the session needs no handling. */
  refused(path: string, error: unknown): void;
  /** Returns `false` if the limit of nodes is reached, so that this one isn't read. */
  count(by: 1 | -1, path: string): boolean;
  /** @param sentence - `undefined` if everything there is shown again */
  limit(path: string, sentence: string | undefined): void;
}
