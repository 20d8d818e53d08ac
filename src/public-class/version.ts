/** The version in package.json. It is a copy, so that no process has to read that file at its start. A unit test compares the two. */
export const VERSION = '0.1.0';
