import { ChildNames } from '../../src/session/protocol/child-names.js';
import { WireWriter } from '../../src/wire/jute.js';

const LENGTH_BYTES = 4;

/** Names as a server lists them. */
export function namesOf(children: readonly string[]): ChildNames {
  const out = new WireWriter();
  return new ChildNames(
    out
      .vector(children, (name) => out.string(name))
      .frame()
      .subarray(LENGTH_BYTES),
  );
}
