/**
 * Runs groups of tests and other steps of CI, each if an input has changed since it succeeded, and records its success in `test/successes.json`.
 *
 *     node scripts/groups.mjs                        lists the groups, and which of them are due
 *     node scripts/groups.mjs chaos nemesis          runs those of them that are due
 *     node scripts/groups.mjs chaos --always         runs it in any case
 *     node scripts/groups.mjs chaos --report FILE    writes a report for each into FILE, with its name in place of `%`
 *
 * With `ZOOKEEPER_HOME`, a group has a success of its own on that release.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { COMMANDS, FILES, RECORDED } from '../test/support/vitest/groups.mjs';
import { installedVersion } from '../tools/zookeeper/installation.mjs';
import { digestOf } from './recorded/inputs.mjs';
import { record, successOf } from './recorded/records.mjs';

/** @import { Inputs } from '../test/support/vitest/groups.mjs' */

const root = join(import.meta.dirname, '..');
/** @type {Readonly<Record<string, Inputs>>} */
const recorded = RECORDED;
/** @type {Readonly<Record<string, readonly string[]>>} */
const filesOf = FILES;
/** @type {Readonly<Record<string, string>>} */
const commands = COMMANDS;
const known = Object.keys(recorded);
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { always: { type: 'boolean' }, report: { type: 'string' } },
});
const unknown = positionals.filter((name) => !known.includes(name));
if (unknown.length > 0)
  throw new Error(`unknown groups: ${unknown.join(', ')}; expected some of ${known.join(', ')}`);
const release = process.env.ZOOKEEPER_HOME === undefined ? '' : ` on ZooKeeper ${await installedVersion()}`;

for (const [group, { also = [], apartFrom }] of Object.entries(recorded)) {
  if (positionals.length > 0 && !positionals.includes(group)) continue;
  const name = `${group}${release}`;
  const inputs = digestOf(root, [...(filesOf[group] ?? []), ...also], apartFrom);
  const success = successOf(root, name, inputs);
  if (success !== undefined && !values.always) {
    const { commit, day } = success;
    console.log(
      `${name}: not due, since none of its inputs has changed since its success on ${day} at ${commit}`,
    );
  } else if (positionals.length === 0) {
    console.log(`${name}: due`);
  } else if (await succeeds(group)) {
    record(root, name, inputs);
  } else {
    process.exitCode = 1;
  }
}

/** @param {string} group @returns {Promise<boolean>} */
function succeeds(group) {
  const command = commands[group];
  if (command !== undefined) return run('npm', ['run', '--silent', command]);
  const options = ['--reporter=default', '--reporter=./test/support/vitest/group-times.ts'];
  const report = values.report?.replace('%', group);
  if (report !== undefined) options.push('--reporter=json', `--outputFile.json=${report}`);
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  return run(process.execPath, [vitest, 'run', '--project', group, ...options]);
}

/** @param {string} program @param {readonly string[]} options @returns {Promise<boolean>} whether it succeeds */
function run(program, options) {
  const child = spawn(program, options, { cwd: root, stdio: 'inherit' });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code === 0));
  });
}
