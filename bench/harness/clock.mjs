/** The machine's monotonic clock, which all processes share, in milliseconds. */
export function now() {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** The processor time that this process has taken until now. */
export function cpuMs() {
  const { user, system } = process.cpuUsage();
  return { cpuMs: (user + system) / 1000, atMs: now() };
}
