import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { type Action, carryOut } from '../../browser/send-action.js';
import { nameOf } from '../../model/display-text.js';
import { usePage } from '../page-context.js';
import { Foreign } from '../parts/untrusted-text.js';

type Progress = 'asking' | 'sent' | { readonly failure: string };

const VERBS: Readonly<Record<Action['kind'], string>> = {
  resign: 'Resign',
  revoke: 'Revoke',
  'hand-over': 'Hand over',
  move: 'Move',
  pin: 'Pin',
  unpin: 'Unpin',
};

/** Opens the dialog for an action, for visitors that may act. */
export function ActionButton({ action }: { action: Action }) {
  const { ask } = usePage();
  return (
    <button type="button" onClick={() => ask?.(action)}>
      {`${VERBS[action.kind]}…`}
    </button>
  );
}

/** Asks the visitor to confirm an action, then sends it. If the action fails, the dialog stays open and shows the reason. */
export function ConfirmDialog({ action, done }: { action: Action; done: () => void }) {
  const { baseUrl, root } = usePage();
  const dialog = useRef<HTMLDialogElement>(null);
  const [progress, setProgress] = useState<Progress>('asking');
  const [grace, setGrace] = useState('');
  useLayoutEffect(() => {
    const element = dialog.current as HTMLDialogElement;
    element.showModal();
    return () => element.close();
  }, []);
  const hasGrace = action.kind === 'resign' || action.kind === 'revoke';
  const send = async (event: Event) => {
    event.preventDefault();
    setProgress('sent');
    try {
      await carryOut(baseUrl, action, grace === '' ? undefined : Math.round(Number(grace) * 1_000));
      if (dialog.current !== null) done(); // The visitor may have closed it, and opened another one.
    } catch (error) {
      setProgress({ failure: error instanceof Error ? error.message : String(error) });
    }
  };
  return (
    <dialog ref={dialog} aria-labelledby="confirm-heading" onClose={done}>
      <form onSubmit={(event) => void send(event)}>
        <h2 id="confirm-heading">{`${VERBS[action.kind]}?`}</h2>
        <p>{consequenceOf(action)}</p>
        <Foreign class="quiet" text={nameOf(action.path, root)} />
        {hasGrace && (
          <label>
            <span>Seconds for its work to settle </span>
            <input
              type="number"
              min="0"
              step="any"
              placeholder="as configured"
              value={grace}
              onInput={(event) => setGrace(event.currentTarget.value)}
            />
          </label>
        )}
        {typeof progress === 'object' && (
          <p role="alert" class="failure">
            <Foreign isFull text={progress.failure} />
          </p>
        )}
        <p class="actions">
          <button type="button" onClick={done}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={progress === 'sent'}>
            {progress === 'sent' ? 'Sent …' : VERBS[action.kind]}
          </button>
        </p>
      </form>
    </dialog>
  );
}

/** A sentence that says what the action does. */
function consequenceOf(action: Action): ComponentChildren[] {
  const name = (text: string) => <Foreign text={text} />;
  switch (action.kind) {
    case 'resign':
      return [name(action.leader.id), ' is asked to end its term. It then joins the queue again.'];
    case 'revoke':
      return [name(action.leader.id), ' is asked to step down. It may refuse.'];
    case 'hand-over':
      return [name(action.leader.id), ' is asked to hand its term over to ', name(action.to.id), '.'];
    case 'move':
      return ['Shard ', name(action.shard), ' moves to ', name(action.member), '.'];
    case 'pin':
      return ['Shard ', name(action.shard), ' is pinned to ', name(action.member), '.'];
    case 'unpin':
      return ['Shard ', name(action.shard), ' is no longer pinned to ', name(action.member), '.'];
  }
}
