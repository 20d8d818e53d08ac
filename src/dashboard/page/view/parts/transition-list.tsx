import { memo } from 'preact/compat';
import type { TransitionView } from '../../../api-types.js';
import { END_TEXT, nameOf, timeText } from '../../model/display-text.js';
import { usePage } from '../page-context.js';
import { Foreign } from './untrusted-text.js';

const KIND_TEXT: Readonly<Record<TransitionView['kind'], string>> = {
  elected: 'leads',
  ended: 'ended',
  joined: 'joined',
  left: 'left',
  moved: 'moved',
  created: 'created',
  removed: 'removed',
  server: 'server',
};

/** The transitions, the newest first. */
export const Transitions = memo(
  ({ transitions, hasPaths = true }: { transitions: readonly TransitionView[]; hasPaths?: boolean }) => {
    const { store, root } = usePage();
    const now = store.now();
    return (
      <ol class="transitions">
        {transitions.map((transition) => {
          const { at, path, kind, id, term, reason } = transition;
          return (
            <li key={`${at} ${kind} ${path} ${id} ${term}`} data-kind={kind}>
              <time>{timeText(at, now)}</time>
              <span class="what">
                {hasPaths && path !== '' && (
                  <span class="where">
                    <Foreign text={nameOf(path, root)} />
                  </span>
                )}
                {id !== null && (
                  <strong>
                    <Foreign text={id} />
                  </strong>
                )}{' '}
                {KIND_TEXT[kind]}
                {term !== undefined && ` term ${term}`}
                {reason !== undefined && (
                  <>
                    {': '}
                    <Foreign text={END_TEXT[reason as keyof typeof END_TEXT] ?? reason} />
                  </>
                )}
              </span>
            </li>
          );
        })}
      </ol>
    );
  },
);
