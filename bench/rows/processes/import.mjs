/** Prints how long it takes to import the module that is named, in milliseconds. */
const [name = ''] = process.argv.slice(2);
const began = performance.now();
await import(name);
console.log(JSON.stringify({ importMs: performance.now() - began }));
