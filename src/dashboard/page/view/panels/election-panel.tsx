import type { ElectionView, TransitionView } from '../../../api-types.js';
import { ageText, countText, durationText, timeText, WHY_TEXT } from '../../model/display-text.js';
import { electionTone } from '../../model/urgency-and-search.js';
import { usePage } from '../page-context.js';
import { LeaseBar, Ticking } from '../parts/ticking-times.js';
import { Transitions } from '../parts/transition-list.js';
import { Foreign } from '../parts/untrusted-text.js';
import { ActionButton } from './confirm-dialog.js';
import { Panel, Section } from './panel-frame.js';
import { Queue } from './queue.js';
import { TermsAndTimeline } from './terms-and-timeline.js';

const STATE_TEXT: Readonly<Record<ElectionView['state'], string>> = {
  led: 'is led',
  vacant: 'has candidates and no leader',
  'taking-over': 'is being taken over: its leader is gone or silent',
  deserted: 'has no candidates',
  unreadable: "can't be read",
};

export function ElectionPanel(props: { election: ElectionView; transitions: readonly TransitionView[] }) {
  const { election, transitions } = props;
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
        <TermsAndTimeline election={election} />
      </Section>
      <Section title="Queue" note={countText(election.candidates.length, 'candidate')}>
        <Candidates election={election} />
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
  if (leader === null) return <p class="leader alarmed">no leader</p>;
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
          <ActionButton action={{ kind: 'resign', path, leader }} />
          <ActionButton action={{ kind: 'revoke', path, leader }} />
        </p>
      )}
    </>
  );
}

/** The candidates in the order of the queue, with an action for each of them. */
function Candidates({ election }: { election: ElectionView }) {
  const { ask } = usePage();
  const { leader, next, path } = election;
  const rows = election.candidates.map((candidate) => {
    const { id, node, priority, leads, data } = candidate;
    const badges = (
      <>
        {priority !== 0 && <span class="badge note">{`priority ${priority}`}</span>}
        {leads && <span class="badge leads">leads</span>}
        {next?.node === node && <span class="badge next">{`next: ${WHY_TEXT[next.why]}`}</span>}
        {ask !== null && !leads && leader !== null && (
          <ActionButton action={{ kind: 'hand-over', path, leader, to: candidate }} />
        )}
      </>
    );
    return { node, id, data, isFirst: leads, badges };
  });
  return <Queue rows={rows} empty="empty" />;
}
