/** That of package.json, which a unit test compares: it isn't read at the start of each process. */
export const VERSION = '0.1.0';
