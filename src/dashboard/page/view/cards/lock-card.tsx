import type { LockView } from '../../../api.js';
import { lockTone } from '../../model/alarms.js';
import { ageText, numberText } from '../../model/format.js';
import { Foreign } from '../parts/foreign.js';
import { Ticking } from '../parts/ticking.js';
import type { CardKind } from './card.js';

export const KIND_TEXT: Readonly<Record<LockView['kind'], string>> = {
  lock: 'lock',
  'read-write': 'read-write lock',
  semaphore: 'semaphore',
};
const MOST_HOLDERS = 2;

export const LOCK_CARD: CardKind<LockView> = { kind: 'lock', toneOf: lockTone, markOf, Body };

function markOf({ kind, holding, capacity }: LockView): string {
  return kind === 'semaphore' ? `${holding} of ${capacity}` : KIND_TEXT[kind];
}

function Body({ view: lock }: { view: LockView }) {
  const holders = lock.queue.slice(0, lock.holding);
  return (
    <>
      {holders.length === 0 && <p class="holder quiet">free</p>}
      {holders.slice(0, MOST_HOLDERS).map((holder) => (
        <p class="holder" key={holder.node}>
          <Foreign text={holder.id || holder.node} />
          <span class="quiet">
            {holder.shared ? 'shared, ' : ''}
            <Ticking text={(now) => ageText(now - holder.since)} />
          </span>
        </p>
      ))}
      <p class="next">
        <span class="quiet">
          {holders.length > MOST_HOLDERS && `and ${holders.length - MOST_HOLDERS} more`}
        </span>
        <span class="waiting">{`${numberText(lock.queue.length - lock.holding)} waiting`}</span>
      </p>
    </>
  );
}
