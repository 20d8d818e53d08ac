import { open, rename, rm } from 'node:fs/promises';
import type { MoveView, TermView, TransitionView } from '../../overview/model/views.js';
import { ignore } from '../../platform/async/promises.js';
import { parseJsonObject } from '../../platform/json.js';

/** A line of the file of the history. The last line of a term counts: it is written when it begins and when it ends. */
export type HistoryRow =
  | { readonly kind: 'since'; readonly at: number }
  | { readonly kind: 'term'; readonly path: string; readonly term: TermView }
  | { readonly kind: 'move'; readonly path: string; readonly move: MoveView }
  | { readonly kind: 'transition'; readonly transition: TransitionView };

const ENDS: ReadonlySet<unknown> = new Set([
  'released',
  'handed-over',
  'taken-over',
  'session-ended',
  'unknown',
  null,
]);
const KINDS: ReadonlySet<unknown> = new Set([
  ...['elected', 'ended', 'joined', 'left', 'moved', 'created', 'removed', 'server'],
]);
/** `undefined` if the line can't be read: the last one may be torn, and another program may have written it. A pure function. */
export function parseRow(line: string): HistoryRow | undefined {
  if (line === '') return undefined;
  const value = parseJsonObject(Buffer.from(line)) as Partial<Record<string, unknown>> | undefined;
  if (value?.kind === 'since') return isTime(value.at) ? { kind: 'since', at: value.at } : undefined;
  if (value?.kind === 'transition' && isTransition(value.transition))
    return { kind: 'transition', transition: value.transition };
  if (typeof value?.path !== 'string') return undefined;
  const { path } = value;
  if (value.kind === 'term' && isTerm(value.term)) return { kind: 'term', path, term: value.term };
  return value.kind === 'move' && isMove(value.move) ? { kind: 'move', path, move: value.move } : undefined;
}

type Fields = Readonly<Record<string, unknown>>;

function isTerm(value: unknown): value is TermView {
  if (!isObject(value)) return false;
  const { term, id, from, to, end } = value;
  const areNumbers = isTime(term) && isTime(from) && (to === null || isTime(to));
  return areNumbers && isName(id) && ENDS.has(end) && (to === null) === (end === null);
}

function isMove(value: unknown): value is MoveView {
  return (
    isObject(value) &&
    isTime(value.at) &&
    typeof value.shard === 'string' &&
    isName(value.from) &&
    isName(value.to)
  );
}

function isTransition(value: unknown): value is TransitionView {
  if (!isObject(value)) return false;
  const { at, path, kind, id, term, reason } = value;
  const isOptional = (each: unknown, type: string) => each === undefined || typeof each === type;
  if (!isTime(at) || typeof path !== 'string' || !KINDS.has(kind) || !isName(id)) return false;
  return isOptional(term, 'number') && isOptional(reason, 'string');
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

function isName(value: unknown): value is string | null {
  return value === null || typeof value === 'string';
}

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
