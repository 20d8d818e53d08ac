import type { DashboardState, ElectionView, GroupView, LockView } from '../../api-types.js';
import { countText, nameOf } from './display-text.js';

/** How urgent a view is, the most urgent first: `alarm` is red, `warning` amber, and `idle` less visible than `well`. */
const TONES = ['alarm', 'warning', 'well', 'idle'] as const;
export type Tone = (typeof TONES)[number];

const STATE_TONES = {
  led: 'well',
  owned: 'well',
  vacant: 'alarm',
  deserted: 'alarm',
  'taking-over': 'warning',
  incomplete: 'warning',
  unreadable: 'warning',
} as const;

/** An election without a candidate is an alarm only if the dashboard has seen a leader there before. */
export function electionTone({ state, terms }: ElectionView): Tone {
  return state === 'deserted' && terms.length === 0 ? 'idle' : STATE_TONES[state];
}

export function groupTone({ state, shards }: GroupView): Tone {
  return state === 'deserted' && shards.length === 0 ? 'idle' : STATE_TONES[state];
}

export function lockTone({ queue }: LockView): Tone {
  return queue.length === 0 ? 'idle' : 'well';
}

/** Since when the election has had no leader, as far as the terms show; `null` if they don't. */
export function leaderlessSince({ leader, terms }: ElectionView): number | null {
  return leader === null ? (terms.at(-1)?.to ?? null) : null;
}

/** The state of all elections and groups together, for the page's header, title and icon. */
export interface Headline {
  readonly tone: 'alarm' | 'warning' | 'well';
  /** A sentence for the header. */
  readonly text: string;
  /** A text for the window's title. The browser cuts titles off at the right, so the problem comes first. */
  readonly title: string;
}

/** @param isLive - whether `state` is current: the page is connected to its server, and the server to ZooKeeper */
export function headlineOf(state: DashboardState, isLive: boolean): Headline {
  const headline = headlineOfViews(state);
  if (isLive) return headline;
  const tone = headline.tone === 'well' ? 'warning' : headline.tone;
  return { ...headline, tone, title: `? ${headline.title}` };
}

function headlineOfViews({ elections, groups, root }: DashboardState): Headline {
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

/** Whether a view's path or names contain all words of a query, in any order. */
export function matches(query: string, view: ElectionView | GroupView | LockView): boolean {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const text = namesIn(view).join('\n').toLowerCase();
  return words.every((word) => text.includes(word));
}

function namesIn(view: ElectionView | GroupView | LockView): string[] {
  if ('candidates' in view) {
    const leader = view.leader === null ? [] : [view.leader.id];
    return [view.path, ...leader, ...view.candidates.map(({ id }) => id)];
  }
  if ('members' in view) return [view.path, ...view.members.map(({ id }) => id)];
  return [view.path, ...view.queue.map(({ id }) => id)];
}

/** Sorts the most urgent views first. `well` and `idle` count as equal, and equal views keep their order. */
export function loudestFirst<View extends { readonly path: string }>(
  views: readonly View[],
  toneOf: (view: View) => Tone,
): View[] {
  const rank = (view: View) => Math.min(TONES.indexOf(toneOf(view)), TONES.indexOf('well'));
  return [...views].sort((a, b) => rank(a) - rank(b));
}
