/** A program for the tests of the driver, which answers without servers. Its recipe names its fault, if it has one. */
import { createInterface } from 'node:readline';

const [servers, timeoutMs, recipe] = process.argv.slice(2);
const say = (/** @type {string} */ line) => process.stdout.write(`${line}\n`);

/** @type {Record<string, (words: string[]) => unknown>} */
const commands = {
  open: () => say('opened'),
  cycle: ([, count]) =>
    say(`took ${Array.from({ length: Number(count) }, (_, at) => `${at + 1}.5`).join(' ')}`),
  queue: ([path, count]) => say(path === '/queue' && count === '3' ? 'queued' : 'failed to understand'),
  hand: () => say('took 42.0'),
  leave: () => say('left'),
  stand: ([, session]) => say(`standing\nheld ${session}`),
  quit: () => process.exit(0),
};

/** @type {Record<string, () => void>} */
const faults = {
  failing: () => {
    process.stderr.write('for this reason\n');
    setTimeout(() => say('failed NoNode'), 50);
  },
  dying: () => {
    process.stderr.write('out of memory\n');
    process.exitCode = 3;
    process.stdin.destroy();
  },
  silent: () => undefined,
  chattering: () => say('log: something happened'),
};

if (servers !== 'here:2181' || timeoutMs !== '5000') throw new Error(`started with ${process.argv}`);
createInterface({ input: process.stdin }).on('line', (line) => {
  const [command = '', ...words] = line.split(' ');
  const fault = faults[recipe ?? ''];
  if (fault === undefined || command === 'open') commands[command]?.(words);
  // The fault comes at `hand`. Other commands get no answer.
  else if (command === 'hand') fault();
});
say('ready');
