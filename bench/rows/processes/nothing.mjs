/** Prints a line: what the start of Node itself takes. */
console.log('started');
