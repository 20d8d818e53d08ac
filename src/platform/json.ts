/** A node's data as a JSON object. `undefined` if the data isn't one, since any client may have written it. */
export function parseJsonObject(data: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(data.toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
