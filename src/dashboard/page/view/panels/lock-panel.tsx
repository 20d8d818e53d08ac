import { useRef } from 'preact/hooks';
import type { LockView } from '../../../api-types.js';
import { ageText, numberText } from '../../model/display-text.js';
import { lockTone } from '../../model/urgency-and-search.js';
import { KIND_TEXT } from '../cards/lock-and-group-cards.js';
import { Ticking } from '../parts/ticking-times.js';
import { Foreign } from '../parts/untrusted-text.js';
import { Panel, Section, useMovingRows } from './panel-frame.js';

const MOST_ROWS = 200;

export function LockPanel({ lock }: { lock: LockView }) {
  const list = useRef<HTMLOListElement>(null);
  useMovingRows(list);
  const { queue, holding, kind, capacity } = lock;
  const note = `${numberText(holding)} holding, ${numberText(queue.length - holding)} waiting`;
  return (
    <Panel path={lock.path} tone={lockTone(lock)} kind={KIND_TEXT[kind]}>
      {kind === 'semaphore' && <p class="state">{`At most ${capacity} hold it at once.`}</p>}
      <Section title="Queue" note={note}>
        {queue.length === 0 && <p class="quiet">It is free.</p>}
        <ol class="queue" ref={list}>
          {queue.slice(0, MOST_ROWS).map(({ node, id, shared, since }, index) => (
            <li key={node} data-key={node} data-leads={index < holding}>
              <span class="position">{index + 1}</span>
              <span class="candidate">
                <span class="candidate-id">
                  <Foreign text={id || node} />
                </span>
                <span class="data">
                  <Foreign text={node} />
                </span>
              </span>
              <span class="badges">
                {shared && <span class="badge">shared</span>}
                {index < holding && <span class="badge leads">holds</span>}
                <span class="quiet">
                  <Ticking text={(now) => ageText(now - since)} />
                </span>
              </span>
            </li>
          ))}
        </ol>
        {queue.length > MOST_ROWS && <p class="quiet">{`and ${queue.length - MOST_ROWS} more`}</p>}
      </Section>
    </Panel>
  );
}
