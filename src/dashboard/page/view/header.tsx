import { useRef } from 'preact/hooks';
import type { DashboardState, ServerView } from '../../api-types.js';
import type { Scheme } from '../browser/color-scheme.js';
import { ageText, countText, timeText } from '../model/display-text.js';
import { type Headline, headlineOf } from '../model/urgency-and-search.js';
import { useChanges, useKeyDown, usePage } from './page-context.js';
import { Ticking } from './parts/ticking-times.js';
import { Foreign } from './parts/untrusted-text.js';

const SCHEME_TEXT: Readonly<Record<Scheme, string>> = { auto: '◐ auto', light: '○ light', dark: '● dark' };
const SIGNS: Readonly<Record<Headline['tone'], string>> = { well: '', warning: '!', alarm: '✕' };

interface SearchProps {
  readonly query: string;
  readonly search: (query: string) => void;
}

export function Header({ state, query, search }: SearchProps & { state: DashboardState }) {
  const { store, scheme } = usePage();
  useChanges(scheme.changes);
  const { tone, text } = headlineOf(state, store.isLive);
  return (
    <header class="top" data-tone={tone}>
      <div class="headline">
        <h1>
          <span class="sign" aria-hidden="true">
            {SIGNS[tone]}
          </span>
          <Foreign text={text} />
        </h1>
        <p class="note">
          {countsText(state)} below <Foreign text={state.root} />
        </p>
      </div>
      <Servers servers={state.servers} />
      <div class="tools">
        <Search query={query} search={search} />
        <button
          type="button"
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

function Search({ query, search }: SearchProps) {
  const input = useRef<HTMLInputElement>(null);
  useKeyDown((event) => {
    const isTyping = event.target instanceof HTMLElement && event.target.matches('input, select, textarea');
    if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    input.current?.focus();
  });
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

/** Says that the page isn't current, and since when. The page's own clock says for how long. */
export function StaleBanner({ state }: { state: DashboardState }) {
  const { store } = usePage();
  const begun = useRef(performance.now());
  if (store.isLive) return null;
  const since = store.now();
  const why =
    store.link.kind === 'lost'
      ? 'No connection to the dashboard'
      : 'The dashboard has no connection to ZooKeeper';
  return (
    <p class="stale" role="alert">
      <strong>{why}</strong>
      {` – showing the state of ${timeText(since, state.now)}, `}
      <Ticking text={() => `${ageText(performance.now() - begun.current)} ago`} />
    </p>
  );
}
