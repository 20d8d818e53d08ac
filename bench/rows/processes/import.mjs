/** Prints the time, in milliseconds, to import the module in the first argument. */
const [name = ''] = process.argv.slice(2);
const began = performance.now();
await import(name);
console.log(JSON.stringify({ importMs: performance.now() - began }));
