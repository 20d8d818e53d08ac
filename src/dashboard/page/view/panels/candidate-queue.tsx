import { useRef } from 'preact/hooks';
import type { CandidateView, ElectionView } from '../../../api.js';
import { WHY_TEXT } from '../../model/format.js';
import { usePage } from '../page-context.js';
import { Foreign } from '../parts/foreign.js';
import { useMovingRows } from './moving-rows.js';

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
          <button
            type="button"
            onClick={() => ask({ kind: 'hand-over', path, seat: leader.seat, leader: leader.id, to: id })}
          >
            Hand over…
          </button>
        )}
      </span>
    </li>
  );
}
