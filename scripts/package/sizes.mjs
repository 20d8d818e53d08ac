import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * How much there is to read: a count with the most that it may be, and what it is to become. Lower the limit when a count has fallen.
 *
 * @typedef {{ what: string, now: number, most: number, aim: number }} Size
 */

const ROOT = join(import.meta.dirname, '../..');
/** They decide who leads, or hold up what does. */
const CORE = ['session', 'lease', 'queue', 'lock', 'election', 'cluster', 'platform'];
const CODE = /\.(?:ts|tsx|css)$/;

/** @returns {Size[]} */
export function sizes() {
  const src = filesOf('src');
  const code = src.filter((file) => CODE.test(file));
  const core = CORE.flatMap((folder) => filesOf(`src/${folder}`)).filter((file) => CODE.test(file));
  const others = ['test', 'bench', 'scripts', 'tools']
    .flatMap(filesOf)
    .filter((file) => /\.m?ts$|\.mjs$/.test(file));
  const pages = [join(ROOT, 'README.md'), ...filesOf('docs').filter((file) => file.endsWith('.md'))];
  return [
    { what: 'lines of code in src', now: sum(code, linesOfCode), most: 35_619, aim: 34_500 },
    { what: 'files in src', now: src.length, most: 401, aim: 375 },
    { what: `lines of code in ${CORE.join(', ')}`, now: sum(core, linesOfCode), most: 16_100, aim: 13_500 },
    { what: 'lines in test, bench, scripts, tools', now: sum(others, linesOf), most: 99_511, aim: 90_000 },
    { what: 'words in README and docs', now: sum(pages, wordsOf), most: 52_000, aim: 52_000 },
  ];
}

/** @param {readonly Size[]} all */
export function sizesTableOf(all) {
  const rows = all.map(({ what, now, most, aim }) => `| ${what} | ${now} | ${most} | ${aim} |`);
  return ['| what | number | at most | aim |', '|---|---|---|---|', ...rows].join('\n');
}

/** @param {readonly Size[]} all @returns {string[]} */
export function problemsWithSizes(all) {
  return all
    .filter(({ now, most }) => now > most)
    .map(({ what, now, most }) => `${now} ${what}: expected at most ${most}`);
}

/** Lines that are neither blank nor comment. @param {string} text */
export function linesOfCode(text) {
  const lines = text.replaceAll(/\/\*[\s\S]*?\*\//g, '').split('\n');
  return lines.filter((line) => line.trim() !== '' && !line.trim().startsWith('//')).length;
}

/** @param {string} text */
function linesOf(text) {
  return text.split('\n').length - 1;
}

/** @param {string} text */
function wordsOf(text) {
  return text.split(/\s+/).filter((word) => word !== '').length;
}

/** @param {readonly string[]} files @param {(text: string) => number} count */
function sum(files, count) {
  return files.reduce((total, file) => total + count(readFileSync(file, 'utf8')), 0);
}

/** Without installed packages and without folders that begin with a dot. @param {string} folder @returns {string[]} */
function filesOf(folder) {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.name === 'node_modules' || entry.name.startsWith('.')) return [];
    return entry.isDirectory() ? filesOf(path) : [join(ROOT, path)];
  });
}
