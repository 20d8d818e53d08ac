import type { ComponentType } from 'preact';
import { memo } from 'preact/compat';
import { useMemo } from 'preact/hooks';
import type { Tone } from '../../model/alarms.js';
import { nameOf } from '../../model/format.js';
import { hashOf, type Kind } from '../../model/route.js';
import { usePage } from '../page-context.js';
import { Foreign } from '../parts/foreign.js';

/** How a kind of card looks. */
export interface CardKind<View> {
  readonly kind: Kind;
  readonly toneOf: (view: View) => Tone;
  /** A word or two beside the name. */
  readonly markOf: (view: View) => string;
  /** Whether the card is as high as two cards. */
  readonly isTall?: (view: View) => boolean;
  readonly Body: ComponentType<{ view: View }>;
}

/**
 * A card. The whole card is the link that opens the panel. The page draws a card's content again only for another view, because
 * a search merely hides most of the cards. Hidden cards stay in the document: building them anew would take longer.
 */
function CardFrame<View extends { readonly path: string }>(props: {
  of: CardKind<View>;
  view: View;
  isHidden: boolean;
  isOpen: boolean;
}) {
  const { of, view, isHidden, isOpen } = props;
  const { kind, toneOf, markOf, isTall, Body } = of;
  const { root } = usePage();
  const { path } = view;
  const content = useMemo(
    () => (
      <article class={`card ${kind}`} data-tone={toneOf(view)}>
        <div class="card-head">
          <h3>
            <a href={hashOf({ open: { kind, path }, query: '' })} data-path={path}>
              <Foreign text={nameOf(path, root)} />
            </a>
          </h3>
          <span class="mark">{markOf(view)}</span>
        </div>
        <Body view={view} />
      </article>
    ),
    [kind, toneOf, markOf, Body, view, path, root],
  );
  return (
    <li class="place" data-tall={isTall?.(view) === true} data-open={isOpen} hidden={isHidden}>
      {content}
    </li>
  );
}

export const Card = memo(CardFrame) as typeof CardFrame;
