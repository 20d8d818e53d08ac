import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { type Action, carryOut } from '../../browser/send-action.js';
import { nameOf } from '../../model/display-text.js';
import { usePage } from '../page-context.js';
import { Foreign } from '../parts/untrusted-text.js';

type Progress =
  | { readonly kind: 'asking' }
  | { readonly kind: 'sent' }
  | { readonly kind: 'failed'; readonly message: string };

const VERBS: Readonly<Record<Action['kind'], string>> = {
  resign: 'Resign',
  revoke: 'Revoke',
  'hand-over': 'Hand over',
  move: 'Move',
  pin: 'Pin',
  unpin: 'Unpin',
};

/** Asks the visitor to confirm an action, then sends it. If the action fails, the dialog stays open and shows the reason. */
export function ConfirmDialog({ action, done }: { action: Action; done: () => void }) {
  const { baseUrl, root } = usePage();
  const dialog = useRef<HTMLDialogElement>(null);
  const [progress, setProgress] = useState<Progress>({ kind: 'asking' });
  const [grace, setGrace] = useState('');
  useLayoutEffect(() => {
    const element = dialog.current as HTMLDialogElement;
    element.showModal();
    return () => element.close();
  }, []);
  const hasGrace = action.kind === 'resign' || action.kind === 'revoke';
  const send = async (event: Event) => {
    event.preventDefault();
    setProgress({ kind: 'sent' });
    const seconds = Number.parseFloat(grace);
    try {
      await carryOut(
        baseUrl,
        action,
        Number.isFinite(seconds) ? { graceMs: Math.round(seconds * 1_000) } : {},
      );
      done();
    } catch (error) {
      setProgress({ kind: 'failed', message: error instanceof Error ? error.message : String(error) });
    }
  };
  return (
    <dialog ref={dialog} aria-labelledby="confirm-heading" onClose={done}>
      <form onSubmit={(event) => void send(event)}>
        <h2 id="confirm-heading">{`${VERBS[action.kind]}?`}</h2>
        <p>
          <Consequence action={action} />
        </p>
        <p class="path">
          <Foreign text={nameOf(action.path, root)} />
        </p>
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
        {progress.kind === 'failed' && (
          <p role="alert" class="failure">
            <Foreign isFull text={progress.message} />
          </p>
        )}
        <p class="actions">
          <button type="button" onClick={done}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={progress.kind === 'sent'}>
            {progress.kind === 'sent' ? 'Sent …' : VERBS[action.kind]}
          </button>
        </p>
      </form>
    </dialog>
  );
}

function Consequence({ action }: { action: Action }): ComponentChildren {
  switch (action.kind) {
    case 'resign':
      return (
        <>
          <Foreign text={action.leader.id} /> is asked to end its term. It then joins the queue again.
        </>
      );
    case 'revoke':
      return (
        <>
          <Foreign text={action.leader.id} /> is asked to step down. It may refuse.
        </>
      );
    case 'hand-over':
      return (
        <>
          <Foreign text={action.leader.id} /> is asked to hand its term over to{' '}
          <Foreign text={action.to.id} />.
        </>
      );
    case 'move':
    case 'pin':
      return (
        <>
          Shard <Foreign text={action.shard} /> {action.kind === 'move' ? 'moves' : 'is pinned'} to{' '}
          <Foreign text={action.member} />.
        </>
      );
    case 'unpin':
      return (
        <>
          Shard <Foreign text={action.shard} /> is no longer pinned to <Foreign text={action.member} />.
        </>
      );
  }
}
