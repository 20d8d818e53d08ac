import { render } from 'preact';
import { ColorScheme } from './browser/color-scheme.js';
import { EventStream } from './browser/event-stream.js';
import { Listeners } from './browser/listeners.js';
import { PageStore } from './browser/page-store.js';
import { baseUrlOf } from './model/address-hash.js';
import { visibleText } from './model/display-text.js';
import { type Headline, headlineOf } from './model/urgency-and-search.js';
import { App } from './view/app.js';

const TICK_MS = 1_000;

const baseUrl = baseUrlOf(location.href);
const store = new PageStore();
const ticks = new Listeners();
const scheme = new ColorScheme();

// Not in an animation frame: a hidden window gets no frames, but its title and icon are still visible.
store.changes.add(() => {
  if (store.model !== undefined) showInWindow(headlineOf(store.model.state, store.isLive));
});
render(<App page={{ store, ticks, scheme, baseUrl }} />, document.getElementById('page') as HTMLElement);

const stream = new EventStream(`${baseUrl}api/events`, store);
const showTimes = () => {
  if (!document.hidden) ticks.notify();
};
setInterval(showTimes, TICK_MS);
addEventListener('online', () => stream.hurry());
document.addEventListener('visibilitychange', () => {
  showTimes();
  if (!document.hidden) stream.hurry();
});

const MARKS: Readonly<Record<Headline['tone'], string>> = {
  well: '<circle cx="16" cy="16" r="14" fill="#4057c4"/><circle cx="16" cy="16" r="5.5" fill="#fff"/>',
  warning:
    '<circle cx="16" cy="16" r="14" fill="#b86e00"/><path d="M16 8v10" stroke="#fff" stroke-width="4" stroke-linecap="round"/><circle cx="16" cy="23.500" r="2.400" fill="#fff"/>',
  alarm:
    '<rect width="32" height="32" rx="7" fill="#c8102e"/><path d="M9 9l14 14M23 9L9 23" stroke="#fff" stroke-width="5" stroke-linecap="round"/>',
};

/** Shows the headline in the window's title and icon, which a reader sees also while another window is in front. */
function showInWindow(headline: Headline): void {
  const title = visibleText(headline.title);
  if (document.title !== title) document.title = title;
  const link = document.querySelector<HTMLLinkElement>('link[rel=icon]');
  const href = iconOf(headline.tone);
  if (link !== null && link.href !== href) link.href = href;
}

function iconOf(tone: Headline['tone']): string {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">${MARKS[tone]}</svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}
