/**
 * The code of the error that `promise` rejects with, as each of the two clients names it; `'none'` if it resolves.
 *
 * @param {Promise<unknown>} promise
 * @returns {Promise<string>}
 */
export async function codeOf(promise) {
  try {
    await promise;
    return 'none';
  } catch (error) {
    const { code, name } = /** @type {{ code?: unknown, name: string }} */ (error);
    return typeof code === 'string' ? code : name;
  }
}
