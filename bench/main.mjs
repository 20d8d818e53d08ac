/** Compares Conclave with other clients. `npm run bench -- --help` lists the options; `docs/benchmarks.md` explains the rows. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { CONTESTANTS } from './harness/contestants.mjs';
import { stopAllServers } from './harness/servers.mjs';
import { HELP, parseOptions } from './options.mjs';
import { describeMachine, moment } from './report/machine.mjs';
import { fillIn, INTRODUCTION, page } from './report/markdown.mjs';
import { plots } from './report/plots.mjs';
import { judged } from './report/promises.mjs';
import { withRun } from './report/published.mjs';
import { verdict } from './report/verdict.mjs';

const DOCUMENT = join(import.meta.dirname, '../docs/benchmarks.md');
const PUBLISHED = join(import.meta.dirname, 'results');
const PUBLISHED_RUNS = join(PUBLISHED, 'results.json');
const args = process.argv.slice(2);
const began = performance.now();
let isInterrupted = false;
// The measured processes inherit this level. Processes whose start is measured don't.
process.env.CONCLAVE_LOG_LEVEL ??= 'silent';

/** @param {string} text */
function say(text) {
  const seconds = Math.floor((performance.now() - began) / 1000);
  const elapsed = `${String(Math.floor(seconds / 60)).padStart(3)}:${String(seconds % 60).padStart(2, '0')}`;
  console.error(`${elapsed}  ${text}`);
}

/** Makes a temporary folder for this process and its children, and removes it at the exit. */
function useOwnFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'conclave-bench-'));
  process.env.TMPDIR = folder;
  process.on('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
}

/** Stops the servers before their folders are removed. The other programs end with this process. */
function endWhenInterrupted() {
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    // Not `once`: the drivers' listener, if no other one is left, ends the process before the folders are removed.
    process.on(signal, () => {
      say('interrupted');
      isInterrupted = true;
      void stopAllServers().finally(() => process.exit(128 + constants.signals[signal]));
    });
  }
}

/**
 * @param {string} row
 * @param {import('./harness/finding.mjs').Bench} bench
 * @returns {Promise<import('./harness/finding.mjs').Finding>}
 */
async function measure(row, bench) {
  const { default: run } = await import(`./rows/${row}.mjs`);
  return await run(bench);
}

/**
 * @param {import('./options.mjs').Options} options
 * @param {(results: import('./report/markdown.mjs').Results) => void} onRow called after each row with all results so far
 * @returns {Promise<import('./report/markdown.mjs').Results>}
 */
async function measureAll({ rows, quick, rounds, contestants, crowds }, onRow) {
  const date = new Date().toISOString();
  const machine = describeMachine();
  const before = moment();
  /** @type {import('./harness/finding.mjs').Finding[]} */
  const findings = [];
  /** @type {{ row: string, reason: string }[]} */
  const failures = [];
  for (const row of rows) {
    say(`${row} …`);
    try {
      const bench = {
        quick,
        rounds,
        contestants,
        crowds,
        say: (/** @type {string} */ text) => say(`  ${text}`),
      };
      findings.push(await measure(row, bench));
    } catch (error) {
      // The run goes on, and keeps the results of the other rows.
      say(`${row} failed: ${error instanceof Error ? error.stack : error}`);
      failures.push({ row, reason: error instanceof Error ? error.message : String(error) });
    }
    // An interruption stops the servers of the current row, so this failure says nothing about the row.
    if (isInterrupted) break;
    onRow(results());
  }
  return results();

  function results() {
    const seconds = (performance.now() - began) / 1000;
    return { date, args, seconds, machine, before, after: moment(), findings, failures };
  }
}

/** @param {import('./report/markdown.mjs').Results} results @param {import('./options.mjs').Options} options */
function keep(results, { out, docs }) {
  mkdirSync(out, { recursive: true });
  writeFileSync(join(out, 'results.json'), `${JSON.stringify(results, undefined, 1)}\n`);
  const drawn = plots(results.findings);
  writePlots(out, drawn);
  writeFileSync(join(out, 'results.md'), page([results], Object.keys(drawn)));
  if (docs) publish(results, drawn);
}

/** Replaces the published figures of these rows. @param {import('./report/markdown.mjs').Results} results @param {Record<string, string>} drawn */
function publish(results, drawn) {
  const runs = withRun(JSON.parse(readFileSync(PUBLISHED_RUNS, 'utf8')), results);
  writeFileSync(PUBLISHED_RUNS, `${JSON.stringify(runs, undefined, 1)}\n`);
  writePlots(PUBLISHED, drawn);
  const names = readdirSync(PUBLISHED).filter((name) => name.endsWith('.svg'));
  writeFileSync(join(PUBLISHED, 'results.md'), page(runs, names, INTRODUCTION));
  writeFileSync(DOCUMENT, fillIn(readFileSync(DOCUMENT, 'utf8'), verdict(runs)));
}

/** @param {string} folder @param {Record<string, string>} drawn files by their names */
function writePlots(folder, drawn) {
  for (const [name, svg] of Object.entries(drawn)) writeFileSync(join(folder, name), svg);
}

/** @param {import('./report/markdown.mjs').Results} results @param {import('./options.mjs').Options} options */
function promisesIn({ findings }, { rows }) {
  const words = { yes: 'kept', '**no**': 'NOT KEPT', 'not measured': 'not measured' };
  return judged(findings, (row) => rows.includes(row)).map(
    ({ promise, measured, kept }) => `${words[kept]}: ${promise} (${measured})`,
  );
}

/** @param {import('./options.mjs').Options} options */
async function run(options) {
  useOwnFolder();
  endWhenInterrupted();
  // Writes the results after each row, so that an interrupted run keeps its finished rows.
  const results = await measureAll(options, (soFar) => keep(soFar, { ...options, docs: false }));
  if (options.docs && !isInterrupted) keep(results, options);
  for (const line of promisesIn(results, options)) say(line);
  say(`${join(options.out, 'results.md')} has all results`);
  if (results.failures.length > 0) process.exitCode = 1;
}

try {
  const options = parseOptions(
    args,
    CONTESTANTS.map(({ name }) => name),
  );
  if (options.help) console.log(HELP);
  else await run(options);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
