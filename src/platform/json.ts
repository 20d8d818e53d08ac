/** A node's data as a JSON object. `undefined` if the data isn't one, since any client may have written it. */
export function parseJsonObject(data: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(data.toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** A node's data in one of Conclave's formats, each of which has a name. */
export function serializeFormat(format: string, values: object): Buffer {
  return Buffer.from(JSON.stringify({ format, ...values }));
}

/** The values that {@link serializeFormat} has written. `undefined` if the data have another format: any client may have written them. */
export function parseFormat(data: Buffer, format: string): Readonly<Record<string, unknown>> | undefined {
  const value = parseJsonObject(data);
  return value?.format === format ? value : undefined;
}
