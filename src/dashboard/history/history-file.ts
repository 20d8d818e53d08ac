import { open, rename, rm } from 'node:fs/promises';
import { ignore } from '../../platform/async/promises.js';
import type { HistoryRow } from './history-rows.js';

const OWNER_ONLY = 0o600; // It names elections, candidates and members.
/** So many rows take about a millisecond: the process may lead meanwhile. */
const ROWS_AT_ONCE = 500;

/**
 * Appends to the file, which needn't exist. Returns its new length in bytes. If that fails, the file is as it was: a part that was written is
 * cut off, because it is written again later.
 */
export async function appendRows(path: string, text: string): Promise<number> {
  const file = await open(path, 'a', OWNER_ONLY);
  try {
    const { size } = await file.stat();
    try {
      await file.appendFile(text);
    } catch (error) {
      await file.truncate(size).catch(ignore);
      throw error;
    }
    return size + Buffer.byteLength(text);
  } finally {
    await file.close();
  }
}

/** Writes another file that takes the place of this one, so that a crash leaves one or the other. Returns its length in bytes. */
export async function replaceRows(path: string, rows: readonly HistoryRow[]): Promise<number> {
  const next = `${path}.next`;
  try {
    const length = await writeRows(next, rows);
    await rename(next, path);
    return length;
  } catch (error) {
    await rm(next, { force: true }).catch(ignore);
    throw error;
  }
}

async function writeRows(path: string, rows: readonly HistoryRow[]): Promise<number> {
  const file = await open(path, 'w', OWNER_ONLY);
  try {
    let length = 0;
    for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
      const text = linesOf(rows.slice(at, at + ROWS_AT_ONCE));
      await file.appendFile(text);
      length += Buffer.byteLength(text);
    }
    return length;
  } finally {
    await file.close();
  }
}

export function linesOf(rows: readonly HistoryRow[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join('');
}
