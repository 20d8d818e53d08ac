import type { DashboardState, ElectionView, GroupView, LockView } from '../../api.js';
import { countText, nameOf } from './format.js';

/** How loud something is: `alarm` in red, `warning` in amber, `idle` quieter than `well`. The loudest first. */
export const TONES = ['alarm', 'warning', 'well', 'idle'] as const;
export type Tone = (typeof TONES)[number];

/** An election without a candidate is no alarm if it has never been seen with a leader: nothing is missing. */
export function electionTone({ state, terms }: ElectionView): Tone {
  switch (state) {
    case 'led':
      return 'well';
    case 'vacant':
      return 'alarm';
    case 'deserted':
      return terms.length > 0 ? 'alarm' : 'idle';
    case 'taking-over':
    case 'unreadable':
      return 'warning';
  }
}

export function groupTone({ state, shards }: GroupView): Tone {
  switch (state) {
    case 'owned':
      return 'well';
    case 'deserted':
      return shards.length > 0 ? 'alarm' : 'idle';
    case 'incomplete':
    case 'unreadable':
      return 'warning';
  }
}

export function lockTone({ queue }: LockView): Tone {
  return queue.length === 0 ? 'idle' : 'well';
}

/** The seats without a leader. */
export function emptySeats({ leaders, seats }: ElectionView): number {
  return Math.max(1, seats) - leaders.filter((leader) => leader !== null).length;
}

/** Since when a seat has had no leader, as far as it is known: the first that has none. */
export function leaderlessSince({ leaders, seats, terms }: ElectionView): number | null {
  const ends = Array.from({ length: Math.max(1, seats) }, (_, seat) => {
    if ((leaders[seat] ?? null) !== null) return null;
    const of = terms.filter((term) => term.seat === seat);
    const last = of.at(-1)?.to ?? null;
    return last;
  }).filter((end) => end !== null);
  return ends.length === 0 ? null : Math.min(...ends);
}

/** What the page says as a whole: in its header, its title and its icon. */
export interface Headline {
  readonly tone: 'alarm' | 'warning' | 'well';
  /** In a sentence, for the header. */
  readonly text: string;
  /** For the window's title, where names are cut off at the right. */
  readonly title: string;
}

/** @param isLive - whether what is shown is from now: the page has its server, and that one has ZooKeeper */
export function headlineOf(state: DashboardState, isLive: boolean): Headline {
  const { elections, groups, root } = state;
  const headline = ofElections(elections, groups, root);
  if (isLive) return headline;
  return {
    ...headline,
    tone: headline.tone === 'well' ? 'warning' : headline.tone,
    title: `? ${headline.title}`,
  };
}

function ofElections(
  elections: readonly ElectionView[],
  groups: readonly GroupView[],
  root: string,
): Headline {
  const counts = countText(elections.length, 'election');
  const without = elections.filter((election) => electionTone(election) === 'alarm');
  const [first] = without;
  if (first !== undefined) {
    const name = nameOf(first.path, root);
    const text = without.length === 1 ? 'no leader' : `${without.length} without a leader`;
    return {
      tone: 'alarm',
      text: without.length === 1 ? `no leader – ${name}` : `${counts} · ${text}`,
      title: `✕ ${text} – ${name}`,
    };
  }
  const deserted = groups.filter((group) => groupTone(group) === 'alarm');
  if (deserted[0] !== undefined) {
    const name = nameOf(deserted[0].path, root);
    return { tone: 'alarm', text: `no member – ${name}`, title: `✕ no member – ${name}` };
  }
  const warned =
    elections.filter((election) => electionTone(election) === 'warning').length +
    groups.filter((group) => groupTone(group) === 'warning').length;
  if (warned > 0)
    return {
      tone: 'warning',
      text: `${counts} · ${warned} changing hands or not readable`,
      title: `! ${counts} – Conclave`,
    };
  const idle = elections.filter((election) => electionTone(election) === 'idle').length;
  const led = idle === 0 ? 'all led' : `${elections.length - idle} led, ${idle} without candidates`;
  const text = elections.length === 0 ? 'no elections' : `${counts} · ${led}`;
  return { tone: 'well', text, title: `${text} – Conclave` };
}

/** What is searched of each view. Views don't change, and a query is asked of all of them at each change of one. */
const searched = new WeakMap<object, string>();

/** Whether a view's path or names contain all words of a query, in any order. */
export function matches(query: string, view: ElectionView | GroupView | LockView): boolean {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const text = searched.get(view) ?? namesIn(view).join('\n').toLowerCase();
  searched.set(view, text);
  return words.every((word) => text.includes(word));
}

function namesIn(view: ElectionView | GroupView | LockView): string[] {
  if ('candidates' in view) {
    const leaders = view.leaders.flatMap((leader) => (leader === null ? [] : [leader.id]));
    return [view.path, ...leaders, ...view.candidates.map(({ id }) => id)];
  }
  if ('members' in view) return [view.path, ...view.members.map(({ id }) => id)];
  return [view.path, ...view.queue.map(({ id }) => id)];
}

/** The loudest first; of the same tone in the order of their paths. */
export function loudestFirst<View extends { readonly path: string }>(
  views: readonly View[],
  toneOf: (view: View) => Tone,
): View[] {
  const rank = (view: View) => Math.min(TONES.indexOf(toneOf(view)), TONES.indexOf('well'));
  return [...views].sort((a, b) => rank(a) - rank(b));
}
