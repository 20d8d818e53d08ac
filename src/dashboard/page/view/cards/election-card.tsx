import { memo } from 'preact/compat';
import { useRef } from 'preact/hooks';
import type { ElectionView, LeaderView } from '../../../api-types.js';
import { ageText, countText, numberText, WHY_TEXT } from '../../model/display-text.js';
import { boxesOf, isShown, rangeOf, TERM_TONES, timelineOf, viewBoxOf } from '../../model/timeline.js';
import { electionTone, leaderlessSince } from '../../model/urgency-and-search.js';
import { usePage, useTicks } from '../page-context.js';
import { LeaseBar, Ticking } from '../parts/ticking-times.js';
import { Foreign } from '../parts/untrusted-text.js';
import type { CardKind } from './lock-and-group-cards.js';

const SHORT_WHY = { queue: 'by queue', priority: 'by priority', named: 'named' } as const;

export const ELECTION_CARD: CardKind<ElectionView> = {
  kind: 'election',
  toneOf: electionTone,
  markOf,
  Body,
};

function Body({ view: election }: { view: ElectionView }) {
  return (
    <>
      {election.leader === null ? (
        <Leaderless election={election} />
      ) : (
        <Leader path={election.path} leader={election.leader} />
      )}
      <p class="next">
        {election.next === null ? (
          <span class="quiet">{election.leader === null ? '' : 'none next'}</span>
        ) : (
          <>
            <span class="quiet">next</span> <Foreign text={election.next.id} />
            <span class="why quiet" title={WHY_TEXT[election.next.why]}>
              {SHORT_WHY[election.next.why]}
            </span>
          </>
        )}
        <span class="waiting quiet">{waitingText(election)}</span>
      </p>
      <TimelineStrip election={election} />
    </>
  );
}

function Leader({ path, leader }: { path: string; leader: LeaderView }) {
  return (
    <>
      <p class="leader">
        <Foreign text={leader.id} />
      </p>
      <p class="facts quiet">
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
  const { state } = election;
  const isIdle = electionTone(election) === 'idle';
  const text = state === 'unreadable' ? 'not readable' : 'no leader';
  return (
    <>
      <p class={isIdle ? 'leader quiet' : 'leader none'}>{isIdle ? 'no candidates' : text}</p>
      <p class="facts quiet">
        {since !== null && (
          <span>
            {'for '}
            <Ticking text={(now) => ageText(now - since)} />
          </span>
        )}
        {state === 'deserted' && !isIdle && <span>and no candidates</span>}
      </p>
    </>
  );
}

const MARKS: Readonly<Record<ElectionView['state'], string>> = {
  led: '',
  'taking-over': 'taking over',
  unreadable: 'unreadable',
  vacant: '✕ no leader',
  deserted: '✕ no leader',
};

function markOf(election: ElectionView): string {
  return electionTone(election) === 'idle' ? '' : MARKS[election.state];
}

function waitingText({ candidates }: ElectionView): string {
  const waiting = candidates.filter(({ leads }) => !leads).length;
  return `${numberText(waiting)} waiting`;
}

const MOST_MS = 24 * 60 * 60 * 1_000;

/** The terms of the last day as a small picture. As time goes on, only its view box changes. */
export const TimelineStrip = memo(({ election }: { election: ElectionView }) => {
  const { store } = usePage();
  const picture = useRef<SVGSVGElement>(null);
  const timeline = timelineOf(election);
  const origin = election.terms[0]?.from ?? 0;
  useTicks(() =>
    picture.current?.setAttribute('viewBox', viewBoxOf(rangeOf(timeline, store.now(), MOST_MS), origin)),
  );
  const gaps = timeline.gaps.filter(isShown);
  const label = `${countText(election.terms.length, 'term')}, ${countText(gaps.length, 'gap')}`;
  return (
    <div class="strip" role="img" aria-label={label}>
      <svg preserveAspectRatio="none" viewBox="0 0 1 1" aria-hidden="true" ref={picture}>
        {TERM_TONES.map((each) => (
          <path
            key={each}
            class={each}
            d={boxesOf(
              timeline.terms.filter(({ tone }) => tone === each),
              origin,
            )}
          />
        ))}
        <path class="gap" d={boxesOf(gaps, origin)} vector-effect="non-scaling-stroke" />
      </svg>
    </div>
  );
});
