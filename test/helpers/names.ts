import { Names } from '../../src/session/names.js';
import { WireWriter } from '../../src/wire.js';

const LENGTH_BYTES = 4;

/** Names as a server lists them. */
export function namesOf(children: readonly string[]): Names {
  const out = new WireWriter();
  return new Names(
    out
      .vector(children, (name) => out.string(name))
      .frame()
      .subarray(LENGTH_BYTES),
  );
}
