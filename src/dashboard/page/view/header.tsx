import { useLayoutEffect, useRef } from 'preact/hooks';
import type { DashboardState, ServerView } from '../../api-types.js';
import type { Scheme } from '../browser/color-scheme.js';
import { countText, durationText, timeText } from '../model/display-text.js';
import { type Headline, headlineOf } from '../model/urgency-and-search.js';
import { useIsDark, usePage } from './page-context.js';
import { Ticking } from './parts/ticking-times.js';
import { Foreign } from './parts/untrusted-text.js';

const SCHEME_TEXT: Readonly<Record<Scheme, string>> = { auto: '◐ auto', light: '○ light', dark: '● dark' };
const SIGNS: Readonly<Record<Headline['tone'], string>> = { well: '', warning: '!', alarm: '✕' };

export interface HeaderProps {
  readonly state: DashboardState;
  readonly query: string;
  readonly search: (query: string) => void;
}

export function Header({ state, query, search }: HeaderProps) {
  const { store, scheme } = usePage();
  useIsDark();
  const headline = headlineOf(state, store.isLive);
  const { tone, text } = headline;
  return (
    <header class="top" data-tone={store.isLive ? tone : tone === 'alarm' ? 'alarm' : 'warning'}>
      <div class="headline">
        <h1>
          <span class="sign" aria-hidden="true">
            {SIGNS[tone]}
          </span>
          <Foreign text={text} />
        </h1>
        <p class="root">
          {countsText(state)} below <Foreign text={state.root} />
        </p>
      </div>
      <Servers servers={state.servers} />
      <div class="tools">
        <Search query={query} search={search} />
        <button
          type="button"
          class="scheme"
          onClick={() => scheme.change()}
          aria-label={`Colors: ${scheme.scheme}`}
          title="Colors: the system's, light or dark"
        >
          {SCHEME_TEXT[scheme.scheme]}
        </button>
      </div>
      <p class="announced" role="status">
        {text}
      </p>
    </header>
  );
}

function countsText({ elections, groups, locks }: DashboardState): string {
  const counts = [
    countText(elections.length, 'election'),
    groups.length === 0 ? '' : countText(groups.length, 'group'),
    locks.length === 0 ? '' : countText(locks.length, 'lock'),
  ];
  return counts.filter(Boolean).join(', ');
}

function Search({ query, search }: Omit<HeaderProps, 'state'>) {
  const input = useRef<HTMLInputElement>(null);
  // Before the first frame: a key that is pressed as soon as the page is seen must not be lost.
  useLayoutEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const isTyping = event.target instanceof HTMLElement && event.target.matches('input, select, textarea');
      if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      input.current?.focus();
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, []);
  return (
    <input
      ref={input}
      type="search"
      aria-label="Search elections, locks, groups and their participants"
      placeholder="Search  /"
      value={query}
      onInput={(event) => search(event.currentTarget.value)}
      spellcheck={false}
      autocomplete="off"
    />
  );
}

function Servers({ servers }: { servers: readonly ServerView[] }) {
  return (
    <ul class="servers" aria-label="ZooKeeper servers">
      {servers.map(({ address, role, isOurs, version }) => (
        <li
          key={address}
          data-role={role}
          data-ours={isOurs}
          title={[version, isOurs ? 'this dashboard is connected to it' : ''].filter(Boolean).join(', ')}
        >
          <span class="role">{role}</span> <Foreign text={address} />
          {isOurs && <span class="announced"> (this dashboard's)</span>}
        </li>
      ))}
    </ul>
  );
}

/** Says that the page isn't current, and since when. */
export function StaleBanner({ state }: { state: DashboardState }) {
  const { store } = usePage();
  if (store.isLive) return null;
  const since = store.now();
  const why =
    store.link.kind === 'lost'
      ? 'No connection to the dashboard'
      : 'The dashboard has no connection to ZooKeeper';
  return (
    <p class="stale" role="alert">
      <strong>{why}</strong>
      {` – showing the state of ${timeText(since, state.now)}`}
      <Elapsed />
    </p>
  );
}

/** How long the page hasn't been current, by the page's own clock. */
function Elapsed() {
  const begun = useRef(performance.now());
  const text = () => {
    const ms = performance.now() - begun.current;
    return ms < 1_000 ? '' : `, ${durationText(Math.floor(ms / 1_000) * 1_000)} ago`;
  };
  return <Ticking text={text} />;
}
