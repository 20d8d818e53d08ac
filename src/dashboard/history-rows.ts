import type { Past } from '../overview/model/overview-model.js';
import type { MoveView, TermView, TransitionView } from '../overview/model/views.js';
import { parseJsonObject } from '../platform/json.js';

/** A line of the file of the history. The last line of a term counts: it is written when it begins and when it ends. */
export type HistoryRow =
  | { readonly kind: 'since'; readonly at: number }
  | { readonly kind: 'term'; readonly path: string; readonly term: TermView }
  | { readonly kind: 'move'; readonly path: string; readonly move: MoveView }
  | { readonly kind: 'transition'; readonly transition: TransitionView };

export interface ReadHistory {
  readonly past: Past;
  /** From when on it was written; `undefined`: it is empty. */
  readonly since: number | undefined;
}

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
/** Of each election and each group, and of the transitions. */
const MOST = { terms: 100, moves: 100, transitions: 200 } as const;

/** Reads what was written. Lines that can't be read are left out: the last one may be torn. A pure function. */
export function readRows(text: string): ReadHistory {
  const terms = new Map<string, Map<string, TermView>>();
  const moves = new Map<string, MoveView[]>();
  const transitions: TransitionView[] = [];
  let since: number | undefined;
  for (const line of text.split('\n')) {
    const row = parseRow(line);
    if (row?.kind === 'since') since ??= row.at;
    if (row?.kind === 'transition') transitions.unshift(row.transition);
    if (row?.kind === 'move')
      moves.set(row.path, [row.move, ...(moves.get(row.path) ?? [])].slice(0, MOST.moves));
    if (row?.kind === 'term') {
      const known = terms.get(row.path) ?? new Map<string, TermView>();
      terms.set(row.path, known.set(keyOf(row.term), row.term));
    }
    if (transitions.length > 2 * MOST.transitions) transitions.length = MOST.transitions;
  }
  const newest = [...terms].map(([path, known]) => [path, newestOf([...known.values()])] as const);
  return {
    past: { terms: new Map(newest), moves, transitions: transitions.slice(0, MOST.transitions) },
    since,
  };
}

/** One of a seat of an election, also if that was deleted and made anew. */
export function keyOf({ seat, term, from }: TermView): string {
  return `${seat} ${term} ${from}`;
}

function newestOf(terms: readonly TermView[]): TermView[] {
  return terms.toSorted((one, other) => one.from - other.from).slice(-MOST.terms);
}

function parseRow(line: string): HistoryRow | undefined {
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
  const { term, seat, id, from, to, end } = value;
  const areNumbers = isTime(term) && isTime(seat) && isTime(from) && (to === null || isTime(to));
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

/** All that is worth keeping, as lines. */
export function rowsOf({ past, since }: ReadHistory): HistoryRow[] {
  const terms = [...past.terms].flatMap(([path, each]) =>
    each.map((term) => ({ kind: 'term' as const, path, term })),
  );
  const moves = [...past.moves].flatMap(([path, each]) =>
    each.toReversed().map((move) => ({ kind: 'move' as const, path, move })),
  );
  const transitions = past.transitions
    .toReversed()
    .map((transition) => ({ kind: 'transition' as const, transition }));
  return [
    ...(since === undefined ? [] : [{ kind: 'since' as const, at: since }]),
    ...terms,
    ...moves,
    ...transitions,
  ];
}
