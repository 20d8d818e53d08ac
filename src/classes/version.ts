/** The version in package.json, which isn't read at the start of each process. A unit test compares the two. */
export const VERSION = '0.1.0';
