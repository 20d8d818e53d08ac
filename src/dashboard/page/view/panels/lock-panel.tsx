import type { LockView } from '../../../api-types.js';
import { ageText, numberText } from '../../model/display-text.js';
import { lockTone } from '../../model/urgency-and-search.js';
import { KIND_TEXT } from '../cards/lock-and-group-cards.js';
import { Ticking } from '../parts/ticking-times.js';
import { Panel, Section } from './panel-frame.js';
import { Queue } from './queue.js';

export function LockPanel({ lock }: { lock: LockView }) {
  const { path, queue, holding, kind, capacity } = lock;
  const note = `${numberText(holding)} holding, ${numberText(queue.length - holding)} waiting`;
  const rows = queue.map(({ node, id, shared, since }, index) => ({
    node,
    id: id || node,
    data: node,
    isFirst: index < holding,
    badges: (
      <>
        {shared && <span class="badge note">shared</span>}
        {index < holding && <span class="badge leads">holds</span>}
        <span class="quiet">
          <Ticking text={(now) => ageText(now - since)} />
        </span>
      </>
    ),
  }));
  return (
    <Panel path={path} tone={lockTone(lock)} kind={KIND_TEXT[kind]}>
      {kind === 'semaphore' && <p class="state">{`At most ${capacity} hold it at once.`}</p>}
      <Section title="Queue" note={note}>
        <Queue rows={rows} empty="It is free." />
      </Section>
    </Panel>
  );
}
