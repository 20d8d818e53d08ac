import { useEffect, useMemo, useReducer, useRef, useState } from 'preact/hooks';
import type { DashboardState } from '../../../api-types.js';
import type { Route } from '../../model/address-hash.js';
import { numberText } from '../../model/display-text.js';
import { electionTone, groupTone, lockTone, loudestFirst, matches } from '../../model/urgency-and-search.js';
import { ELECTION_CARD } from './election-card.js';
import { Card, type CardKind, GROUP_CARD, LOCK_CARD } from './lock-and-group-cards.js';

/** More cards than a reader looks through. Search results and urgent views come first, so they are among the built cards. */
const MOST_CARDS = 1_000;
/** How many cards one frame builds, so that no frame takes long. */
const CARDS_IN_A_FRAME = 16;
/** How many cards one frame hides or shows. */
const HIDDEN_IN_A_FRAME = 12;

export function CardGrids({ state, route }: { state: DashboardState; route: Route }) {
  const elections = useMemo(() => loudestFirst(state.elections, electionTone), [state.elections]);
  const groups = useMemo(() => loudestFirst(state.groups, groupTone), [state.groups]);
  const locks = useMemo(() => loudestFirst(state.locks, lockTone), [state.locks]);
  return (
    <>
      <Grid of={ELECTION_CARD} title="Elections" views={elections} route={route} />
      <Grid of={GROUP_CARD} title="Groups of shards" views={groups} route={route} />
      <Grid of={LOCK_CARD} title="Locks" views={locks} route={route} />
    </>
  );
}

type AnyView = DashboardState['elections' | 'groups' | 'locks'][number];

function Grid<View extends AnyView>(props: {
  of: CardKind<View>;
  title: string;
  views: readonly View[];
  route: Route;
}) {
  const { of, title, views, route } = props;
  const { kind } = of;
  const { query, open } = route;
  const built = useGrowing(Math.min(views.length, MOST_CARDS));
  const found = useMemo(() => new Set(views.filter((view) => matches(query, view))), [views, query]);
  const hidden = useHidden(views, found, query);
  if (views.length === 0)
    return kind === 'election' ? (
      <section class="grid">
        <p class="empty quiet">
          There are no elections below this path yet. A new election appears here at once.
        </p>
      </section>
    ) : null;
  // If the page doesn't build all cards, the search results must be among the built ones.
  const isCut = views.length > MOST_CARDS;
  const shown = isCut ? [...views].sort((a, b) => Number(found.has(b)) - Number(found.has(a))) : views;
  const count =
    query === '' ? numberText(views.length) : `${numberText(found.size)} of ${numberText(views.length)}`;
  return (
    <section class="grid" data-size={sizeOf(views.length)} aria-labelledby={`${kind}-heading`}>
      <h2 id={`${kind}-heading`}>
        {title} <span class="quiet">{count}</span>
      </h2>
      <ul>
        {shown.slice(0, built).map((view) => (
          <Card
            key={view.path}
            of={of}
            view={view}
            isHidden={hidden.has(view.path)}
            isOpen={open?.kind === kind && open.path === view.path}
          />
        ))}
      </ul>
      {found.size > MOST_CARDS && (
        <p class="quiet">{`The first ${numberText(MOST_CARDS)} are shown. Search for the others.`}</p>
      )}
    </section>
  );
}

function sizeOf(count: number): string {
  return count <= 4 ? 'few' : count <= 20 ? 'some' : count <= 80 ? 'many' : 'crowd';
}

/** A number that grows to the total, by a few in each frame. */
function useGrowing(total: number): number {
  const [built, setBuilt] = useState(CARDS_IN_A_FRAME);
  useNextFrame(built < total, () => setBuilt((count) => count + CARDS_IN_A_FRAME));
  return Math.min(built, total);
}

/**
 * The paths of the hidden cards. After a new query it takes some frames until all cards without a match are hidden: each
 * card that goes or comes brings others into view, which the browser must lay out.
 */
function useHidden<View extends AnyView>(
  views: readonly View[],
  found: ReadonlySet<View>,
  query: string,
): ReadonlySet<string> {
  const former = useRef<ReadonlySet<string>>(new Set());
  const settled = useRef(query);
  const [, draw] = useReducer((count: number) => count + 1, 0);
  let left = settled.current === query ? Number.POSITIVE_INFINITY : HIDDEN_IN_A_FRAME;
  const hidden = new Set<string>();
  for (const view of views) {
    const [was, is] = [former.current.has(view.path), !found.has(view)];
    if (was !== is) left -= 1;
    if (left >= 0 ? is : was) hidden.add(view.path);
  }
  former.current = hidden;
  if (left >= 0) settled.current = query;
  useNextFrame(left < 0, () => draw(undefined));
  return hidden;
}

/** Calls `step` in the frame after a drawing, if there is more to do. */
function useNextFrame(isNeeded: boolean, step: () => void): void {
  useEffect(() => {
    if (!isNeeded) return;
    const frame = requestAnimationFrame(step);
    return () => cancelAnimationFrame(frame);
  });
}
