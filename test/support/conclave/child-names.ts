import { ChildNames } from '../../../src/session/protocol/child-names.js';
import { Writer } from '../wire/jute.mjs';

/** Names as a server lists them. */
export function childNames(children: readonly string[]): ChildNames {
  const list = new Writer();
  return new ChildNames(list.vector(children, (name) => list.string(name)).done());
}
