import { Session as Inspector } from 'node:inspector/promises';

/**
 * Writes a private field from outside, as a debugger does. A counter would take days to reach the value that a scenario
 * needs, and the code itself needs no function for this.
 *
 * @param {object} target
 * @param {string} field its path: `#connection.#xid`
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
      // As in a console, which may use private fields. The declarations don't have this option.
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
