/** What the `conclave` command itself exits with, in the numbers of BSD's sysexits.h. */
export const EXIT = {
  ok: 0,
  /** The command line is wrong. */
  usage: 64,
  /** Something that it needs can't be had, as a port that is taken. */
  unavailable: 69,
} as const;
