import { memo } from 'preact/compat';
import { useMemo, useRef } from 'preact/hooks';
import type { ElectionView, LeaderView } from '../../../api.js';
import { electionTone, emptySeats, leaderlessSince } from '../../model/alarms.js';
import { ageText, countText, numberText, WHY_TEXT } from '../../model/format.js';
import {
  boxesOf,
  isShown,
  rangeOf,
  type SeatTimeline,
  timelinesOf,
  viewBoxOf,
} from '../../model/timeline.js';
import { usePage, useTicks } from '../page-context.js';
import { LeaseBar, Ticking } from '../parts/ticking.js';
import { Foreign } from '../parts/untrusted-text.js';
import type { CardKind } from './cards.js';

const MOST_LEADERS = 5;
const SHORT_WHY = { queue: 'by queue', priority: 'by priority', named: 'named' } as const;

export const ELECTION_CARD: CardKind<ElectionView> = {
  kind: 'election',
  toneOf: electionTone,
  markOf,
  isTall: ({ seats, leader }) => seats > 1 && leader !== null,
  Body,
};

function Body({ view: election }: { view: ElectionView }) {
  return (
    <>
      <Leaders election={election} />
      <p class="next">
        {election.next === null ? (
          <span class="quiet">{election.leader === null ? '' : 'none next'}</span>
        ) : (
          <>
            <span class="quiet">next</span> <Foreign text={election.next.id} />
            <span class="why" title={WHY_TEXT[election.next.why]}>
              {SHORT_WHY[election.next.why]}
            </span>
          </>
        )}
        <span class="waiting">{waitingText(election)}</span>
      </p>
      <TimelineStrip election={election} />
    </>
  );
}

function Leaders({ election }: { election: ElectionView }) {
  const { leaders, seats, path } = election;
  if (seats > 1 && election.leader !== null)
    return (
      <ul class="leaders">
        {leaders.slice(0, MOST_LEADERS).map((leader, seat) => (
          <li key={seat} data-empty={leader === null}>
            {leader === null ? (
              <span class="leader none">no leader</span>
            ) : (
              <>
                <p class="leader">
                  <Foreign text={leader.id} />
                </p>
                <LeaseBar path={path} leader={leader} />
              </>
            )}
          </li>
        ))}
        {leaders.length > MOST_LEADERS && (
          <li class="quiet">{`and ${leaders.length - MOST_LEADERS} more`}</li>
        )}
      </ul>
    );
  return election.leader === null ? (
    <Leaderless election={election} />
  ) : (
    <SingleLeader path={path} leader={election.leader} />
  );
}

function SingleLeader({ path, leader }: { path: string; leader: LeaderView }) {
  return (
    <>
      <p class="leader">
        <Foreign text={leader.id} />
      </p>
      <p class="facts">
        <span>{`term ${leader.term}`}</span>
        <span>
          {'for '}
          <Ticking text={(now) => ageText(now - leader.since)} />
        </span>
      </p>
      <LeaseBar path={path} leader={leader} />
    </>
  );
}

/** The text in place of the leader. */
function Leaderless({ election }: { election: ElectionView }) {
  const since = leaderlessSince(election);
  const isEmpty = electionTone(election) === 'idle';
  return (
    <>
      <p class={isEmpty ? 'leader quiet' : 'leader none'}>{leaderlessText(election)}</p>
      <p class="facts">
        {!isEmpty && since !== null && (
          <span>
            {'for '}
            <Ticking text={(now) => ageText(now - since)} />
          </span>
        )}
        {election.state === 'deserted' && !isEmpty && <span>and no candidates</span>}
      </p>
    </>
  );
}

function leaderlessText(election: ElectionView): string {
  if (election.state === 'unreadable') return 'not readable';
  if (electionTone(election) === 'idle') return 'no candidates';
  return 'no leader';
}

function markOf(election: ElectionView): string {
  const empty = emptySeats(election);
  switch (election.state) {
    case 'led':
      return election.seats > 1 ? `${election.seats} seats` : '';
    case 'taking-over':
      return 'taking over';
    case 'unreadable':
      return 'unreadable';
    case 'vacant':
    case 'deserted':
      if (electionTone(election) === 'idle') return '';
      return election.seats > 1 ? `✕ ${empty} of ${election.seats} seats` : '✕ no leader';
  }
}

function waitingText({ candidates }: ElectionView): string {
  const waiting = candidates.filter(({ leads }) => !leads).length;
  return `${numberText(waiting)} waiting`;
}

const MOST_MS = 24 * 60 * 60 * 1_000;
const MOST_SEATS = 4;

/** The terms of the last day as a small picture. As time goes on, only its view box changes. */
export const TimelineStrip = memo(({ election }: { election: ElectionView }) => {
  const { store } = usePage();
  const element = useRef<HTMLDivElement>(null);
  const timelines = useMemo(() => timelinesOf(election).slice(0, MOST_SEATS), [election]);
  const origin = election.terms[0]?.from ?? 0;
  useTicks(() => {
    const viewBox = viewBoxOf(rangeOf(timelines, store.now(), MOST_MS), origin);
    for (const svg of element.current?.children ?? []) svg.setAttribute('viewBox', viewBox);
  });
  const gaps = timelines.reduce((sum, timeline) => sum + timeline.gaps.filter(isShown).length, 0);
  const label = `${countText(election.terms.length, 'term')}, ${countText(gaps, 'gap')}`;
  return (
    <div class="strip" role="img" aria-label={label} ref={element}>
      {timelines.map((timeline) => (
        <SeatStrip key={timeline.seat} timeline={timeline} origin={origin} />
      ))}
    </div>
  );
});

function SeatStrip({ timeline: { terms, gaps }, origin }: { timeline: SeatTimeline; origin: number }) {
  const boxes = (tone: 0 | 1) =>
    boxesOf(
      terms.filter((span) => span.tone === tone && !span.isUnsure && span.to !== null).map(spanOf),
      origin,
    );
  const lasting = terms.filter(({ to, isUnsure }) => to === null && !isUnsure);
  const unsure = terms.filter(({ isUnsure }) => isUnsure);
  return (
    <svg preserveAspectRatio="none" viewBox="0 0 1 1" aria-hidden="true">
      <path class="term even" d={boxes(0)} />
      <path class="term odd" d={boxes(1)} />
      <path class="term now" d={boxesOf(lasting.map(spanOf), origin)} />
      <path class="term unsure" d={boxesOf(unsure.map(spanOf), origin)} />
      <path class="gap" d={boxesOf(gaps.filter(isShown), origin)} vector-effect="non-scaling-stroke" />
    </svg>
  );
}

function spanOf({ term, to }: SeatTimeline['terms'][number]) {
  return { from: term.from, to };
}
