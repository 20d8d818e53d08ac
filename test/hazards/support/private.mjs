import { Session as Inspector } from 'node:inspector/promises';

/**
 * Writes a private field from outside, as a debugger does: for a counter that takes days to get where a scenario
 * wants it, without a door for it in the code itself.
 *
 * @param {object} target
 * @param {string} field the way to it: `#connection.#xid`
 * @param {number} value
 */
export async function setPrivate(target, field, value) {
  const inspector = new Inspector();
  inspector.connect();
  const scope = /** @type {{ debugged?: object }} */ (globalThis);
  scope.debugged = target;
  try {
    const { exceptionDetails } = await inspector.post('Runtime.evaluate', {
      expression: `debugged.${field} = ${value}`,
      // As a console does, which may touch what is private. The declarations don't know of it.
      .../** @type {object} */ ({ replMode: true }),
    });
    if (exceptionDetails !== undefined) {
      throw new Error(`${field} can't be set: ${exceptionDetails.exception?.description}`);
    }
  } finally {
    delete scope.debugged;
    inspector.disconnect();
  }
}
