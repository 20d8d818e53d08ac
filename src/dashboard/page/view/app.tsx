import { useLayoutEffect, useMemo, useState } from 'preact/hooks';
import type { DashboardState } from '../../api-types.js';
import type { Action } from '../browser/send-action.js';
import { hashOf, type Route, routeOf } from '../model/address-hash.js';
import { CardGrids } from './cards/card-grids.js';
import { Header, StaleBanner } from './header.js';
import { type Page, PageContext, useChanges, useKeyDown } from './page-context.js';
import { ConfirmDialog } from './panels/confirm-dialog.js';
import { ElectionPanel } from './panels/election-panel.js';
import { GroupPanel } from './panels/group-panel.js';
import { LockPanel } from './panels/lock-panel.js';
import { MissingPanel } from './panels/panel-frame.js';
import { Transitions } from './parts/transition-list.js';
import { Foreign } from './parts/untrusted-text.js';

const MOST_TRANSITIONS = 25;

export function App({ page }: { page: Omit<Page, 'root' | 'ask'> }) {
  const { store } = page;
  useChanges(store.changes);
  const [route, go] = useRoute();
  const [asked, setAsked] = useState<Action | null>(null);
  const state = store.model?.state;
  const root = state?.root ?? '/';
  const mayAct = state?.mayAct === true;
  const context = useMemo(() => ({ ...page, root, ask: mayAct ? setAsked : null }), [page, root, mayAct]);
  useKeyDown((event) => {
    if (event.key === 'Escape' && asked === null && route.open !== null) close(route, go);
  });
  const search = (query: string) => go((former) => ({ ...former, query }));
  if (state === undefined)
    return (
      <p class="connecting quiet" role="status">
        {store.link.kind === 'lost' ? 'The dashboard does not answer. Trying again …' : 'Connecting …'}
      </p>
    );
  return (
    <PageContext.Provider value={context}>
      <Header state={state} query={route.query} search={search} />
      <StaleBanner key={String(store.isLive)} state={state} />
      <div class="columns" data-live={store.isLive}>
        <main>
          {state.limits?.map((limit) => (
            <p key={limit} class="limit">
              <Foreign isFull text={limit} />
            </p>
          ))}
          <CardGrids state={state} route={route} />
        </main>
        <section class="rail" aria-labelledby="transitions-heading">
          <h2 id="transitions-heading">Last transitions</h2>
          {state.transitions.length === 0 && <p class="quiet">No transition has been seen yet.</p>}
          <Transitions transitions={state.transitions} most={MOST_TRANSITIONS} />
        </section>
      </div>
      <OpenPanel state={state} route={route} />
      {asked !== null && <ConfirmDialog action={asked} done={() => setAsked(null)} />}
    </PageContext.Provider>
  );
}

function OpenPanel({ state, route: { open } }: { state: DashboardState; route: Route }) {
  if (open === null) return null;
  const { kind, path } = open;
  const isIt = (view: { readonly path: string }) => view.path === path;
  const election = kind === 'election' ? state.elections.find(isIt) : undefined;
  if (election !== undefined)
    return <ElectionPanel key={path} election={election} transitions={state.transitions} />;
  const group = kind === 'group' ? state.groups.find(isIt) : undefined;
  if (group !== undefined) return <GroupPanel key={path} group={group} />;
  const lock = kind === 'lock' ? state.locks.find(isIt) : undefined;
  if (lock !== undefined) return <LockPanel key={path} lock={lock} />;
  return <MissingPanel key={path} path={path} />;
}

/** Closes the panel, and puts the focus on its card. */
function close(route: Route, go: ReturnType<typeof useRoute>[1]): void {
  const path = route.open?.path;
  go((former) => ({ ...former, open: null }));
  for (const link of document.querySelectorAll<HTMLElement>('.card a'))
    if (link.dataset.path === path) link.focus();
}

/** The route in the page's address, and a function that changes it. */
function useRoute(): [Route, (next: (former: Route) => Route) => void] {
  const [route, setRoute] = useState(() => routeOf(location.hash));
  // Before the first frame: the address may change as soon as the page is seen.
  useLayoutEffect(() => {
    // Links to panels contain no search. They keep the current one.
    const onChange = () =>
      setRoute((former) => {
        const { open, query } = routeOf(location.hash);
        const route = { open, query: query === '' ? former.query : query };
        history.replaceState(null, '', hashOf(route));
        return route;
      });
    addEventListener('hashchange', onChange);
    return () => removeEventListener('hashchange', onChange);
  }, []);
  const go = (next: (former: Route) => Route) => {
    const changed = next(routeOf(location.hash));
    // Replaces the entry in the browser's history. Otherwise each typed letter would add one.
    history.replaceState(null, '', hashOf(changed));
    setRoute(changed);
  };
  return [route, go];
}
