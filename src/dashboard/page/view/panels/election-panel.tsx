import { useRef } from 'preact/hooks';
import type { CandidateView, ElectionView, TransitionView } from '../../../api-types.js';
import { ageText, countText, durationText, timeText, WHY_TEXT } from '../../model/display-text.js';
import { electionTone } from '../../model/urgency-and-search.js';
import { usePage } from '../page-context.js';
import { LeaseBar, Ticking } from '../parts/ticking-times.js';
import { Transitions } from '../parts/transition-list.js';
import { Foreign } from '../parts/untrusted-text.js';
import { Panel, Section, useMovingRows } from './panel-frame.js';
import { TermsTable, TimelineChart } from './terms-and-timeline.js';

const STATE_TEXT: Readonly<Record<ElectionView['state'], string>> = {
  led: 'is led',
  vacant: 'has candidates and no leader',
  'taking-over': 'is being taken over: its leader is gone or silent',
  deserted: 'has no candidates',
  unreadable: "can't be read",
};

export interface ElectionPanelProps {
  readonly election: ElectionView;
  readonly transitions: readonly TransitionView[];
}

export function ElectionPanel({ election, transitions }: ElectionPanelProps) {
  const { path, next } = election;
  const own = transitions.filter((transition) => transition.path === path);
  return (
    <Panel path={path} tone={electionTone(election)} kind="Election">
      <p class="state">{`It ${STATE_TEXT[election.state]}.`}</p>
      <Section title="Leader">
        <Leader election={election} />
      </Section>
      <Section title="Next">
        {next === null ? (
          <p class="quiet">none</p>
        ) : (
          <p class="next-one">
            <Foreign text={next.id} /> <span class="quiet">{WHY_TEXT[next.why]}</span>
          </p>
        )}
      </Section>
      <Section title="Terms">
        <TimelineChart election={election} />
        <TermsTable election={election} />
      </Section>
      <Section title="Queue" note={countText(election.candidates.length, 'candidate')}>
        <CandidateQueue election={election} />
      </Section>
      {own.length > 0 && (
        <Section title="Transitions">
          <Transitions transitions={own} hasPaths={false} />
        </Section>
      )}
    </Panel>
  );
}

function Leader({ election: { path, leader } }: { election: ElectionView }) {
  const { store, ask } = usePage();
  if (leader === null) return <p class="leader none">no leader</p>;
  const target = { path, leader };
  return (
    <>
      <p class="leader">
        <Foreign isFull text={leader.id} />
      </p>
      <LeaseBar path={path} leader={leader} />
      <dl class="facts">
        <dt>term</dt>
        <dd>{leader.term}</dd>
        <dt>since</dt>
        <dd>
          {timeText(leader.since, store.now())}, for <Ticking text={(now) => ageText(now - leader.since)} />
        </dd>
        <dt>lease</dt>
        <dd>{durationText(leader.leaseMs)}</dd>
        <dt>node</dt>
        <dd class="mono">
          <Foreign text={leader.node} />
        </dd>
      </dl>
      {ask !== null && (
        <p class="actions">
          <button type="button" onClick={() => ask({ kind: 'resign', ...target })}>
            Resign…
          </button>
          <button type="button" onClick={() => ask({ kind: 'revoke', ...target })}>
            Revoke…
          </button>
        </p>
      )}
    </>
  );
}

const MOST_ROWS = 200;

/** The candidates in the order of the queue. The page shows how a candidate moves up. */
export function CandidateQueue({ election }: { election: ElectionView }) {
  const list = useRef<HTMLOListElement>(null);
  useMovingRows(list);
  const { candidates } = election;
  if (candidates.length === 0) return <p class="quiet">empty</p>;
  const sorted = [...candidates].sort((a, b) => a.position - b.position);
  return (
    <>
      <ol class="queue" ref={list}>
        {sorted.slice(0, MOST_ROWS).map((candidate) => (
          <Candidate key={candidate.node} candidate={candidate} election={election} />
        ))}
      </ol>
      {sorted.length > MOST_ROWS && <p class="quiet">{`and ${sorted.length - MOST_ROWS} more`}</p>}
    </>
  );
}

function Candidate({ candidate, election }: { candidate: CandidateView; election: ElectionView }) {
  const { ask } = usePage();
  const { id, node, position, priority, leads, data } = candidate;
  const { leader, next, path } = election;
  const isNext = next?.node === node;
  return (
    <li data-key={node} data-leads={leads} data-next={isNext}>
      <span class="position">{position + 1}</span>
      <span class="candidate">
        <span class="candidate-id">
          <Foreign text={id} />
        </span>
        {data !== undefined && data !== '' && (
          <span class="data">
            <Foreign text={data} />
          </span>
        )}
      </span>
      <span class="badges">
        {priority !== 0 && <span class="badge">{`priority ${priority}`}</span>}
        {leads && <span class="badge leads">leads</span>}
        {isNext && <span class="badge next">{`next: ${WHY_TEXT[next.why]}`}</span>}
        {ask !== null && !leads && leader !== null && (
          <button type="button" onClick={() => ask({ kind: 'hand-over', path, leader, to: candidate })}>
            Hand over…
          </button>
        )}
      </span>
    </li>
  );
}
