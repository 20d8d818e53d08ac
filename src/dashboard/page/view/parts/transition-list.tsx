import type { ComponentChildren } from 'preact';
import { memo } from 'preact/compat';
import type { TransitionView } from '../../../api-types.js';
import { END_TEXT, nameOf, timeText } from '../../model/display-text.js';
import { usePage } from '../page-context.js';
import { Foreign } from './untrusted-text.js';

/** The transitions, the newest first. */
export const Transitions = memo(
  (props: { transitions: readonly TransitionView[]; most?: number; hasPaths?: boolean }) => {
    const { transitions, most, hasPaths = true } = props;
    const { root } = usePage();
    return (
      <ol class="transitions">
        {transitions.slice(0, most).map(({ at, path, kind, id, term, reason }) => (
          <Happening key={`${at} ${kind} ${path} ${id} ${term}`} at={at}>
            {hasPaths && path !== '' && <Foreign class="where quiet" text={nameOf(path, root)} />}
            {id !== null && <Foreign class="who" text={id} />} {kind === 'elected' ? 'leads' : kind}
            {term !== undefined && ` term ${term}`}
            {reason !== undefined && ': '}
            {reason !== undefined && <Foreign text={END_TEXT[reason as keyof typeof END_TEXT] ?? reason} />}
          </Happening>
        ))}
      </ol>
    );
  },
);

/** A row of a list of what has happened. */
export function Happening({ at, children }: { at: number; children: ComponentChildren }) {
  const { store } = usePage();
  return (
    <li>
      <time>{timeText(at, store.now())}</time>
      <span class="what">{children}</span>
    </li>
  );
}
