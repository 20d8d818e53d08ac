/** Prints a line, to measure the start of Node itself. */
console.log('started');
