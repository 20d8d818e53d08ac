import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { ROOT } from '../build/sources.mjs';
import { commandsIn } from '../package/counts.mjs';
import { readPage } from './pages.mjs';

/** @typedef {{ scripts: ReadonlySet<string>, commands: ReadonlySet<string>, exists: (path: string) => boolean }} Known */

const SHELLS = ['', 'sh', 'bash', 'shell', 'console'];
/** npm's own commands that pages use. */
const NPM = ['install', 'i', 'ci', 'test', 'pack', 'publish', 'exec', 'start', 'init', 'audit'];

/**
 * Commands in shell blocks and code spans that don't exist: scripts of package.json, commands of `conclave`, files of this
 * project that Node or vitest is to run. Other programs aren't looked at.
 *
 * @param {readonly string[]} files
 * @returns {string[]}
 */
export function missingCommandsIn(files) {
  const known = knownHere();
  return files.flatMap((file) => {
    const { code, prose } = readPage(file);
    const blocks = code.filter(({ language }) => SHELLS.includes(language));
    const lines = [
      ...blocks.flatMap(({ line, text }) => text.split('\n').map((each) => ({ line, text: each }))),
      ...prose.flatMap(({ line, code }) => code.map((text) => ({ line, text }))),
    ];
    return lines.flatMap(({ line, text }) => {
      const why = whyMissing(text, known);
      return why === undefined ? [] : [`${file}:${line}: ${text.trim()}: ${why}`];
    });
  });
}

const WORKFLOWS = '.github/workflows';

/** The files of the workflows. */
export const workflowFiles = () => readdirSync(join(ROOT, WORKFLOWS)).map((name) => `${WORKFLOWS}/${name}`);

/**
 * Commands of workflows that don't exist, as `missingCommandsIn` finds those of pages.
 *
 * @param {readonly string[]} files
 * @returns {string[]}
 */
export function missingCommandsOfWorkflows(files) {
  const known = knownHere();
  return files.flatMap((file) =>
    commandsOf(readFileSync(join(ROOT, file), 'utf8')).flatMap((command) => {
      const why = whyMissing(command, known);
      return why === undefined ? [] : [`${file}: ${command.trim()}: ${why}`];
    }),
  );
}

/** The commands that the steps of a workflow run. @param {string} workflow - YAML @returns {string[]} */
export function commandsOf(workflow) {
  /** @type {{ jobs: Record<string, { steps: { run?: string }[] }> }} */
  const { jobs } = parse(workflow);
  const steps = Object.values(jobs).flatMap((job) => job.steps);
  return steps.flatMap(({ run }) => run?.trim().split('\n') ?? []);
}

/** @param {string} line @param {Known} known @returns {string | undefined} */
export function whyMissing(line, { scripts, commands, exists }) {
  const command = line.replace(/#.*/, '').replace(/^\s*\$?\s*/, '');
  for (const part of command.split(/&&|\||;/)) {
    const words = part
      .trim()
      .split(/\s+/)
      .filter((word) => !/^[A-Z_]+=/.test(word));
    const [program, first = '', second = ''] = words[0] === 'npx' ? words.slice(1) : words;
    if (program === 'npm' && first === 'run' && !scripts.has(second) && /^[\w:]+$/.test(second))
      return `package.json has no script ${second}`;
    if (program === 'npm' && first !== 'run' && /^[a-z]+$/.test(first) && !NPM.includes(first))
      return `npm has no command ${first} that this project uses`;
    if (program === 'conclave' && /^[a-z][a-z-]*$/.test(first) && !commands.has(first))
      return `conclave has no command ${first}`;
    if (program?.startsWith('.ci/') && !exists(program)) return `there is no ${program}`;
    const missing = words.find(
      (word) => /^(?:bench|examples|scripts|test|tools)\/[\w./-]+$/.test(word) && !exists(word),
    );
    if ((program === 'node' || program === 'vitest') && missing !== undefined)
      return `there is no ${missing}`;
  }
  return undefined;
}

/** @returns {Known} */
function knownHere() {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const commands = [...commandsIn(ROOT), 'help'];
  return {
    scripts: new Set(Object.keys(scripts)),
    commands: new Set(commands),
    exists: (path) => existsSync(join(ROOT, path)),
  };
}
