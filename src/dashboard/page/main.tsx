import { render } from 'preact';
import type { GroupView } from '../api.js';
import { SchemeChoice, showInWindow, Ticker } from './browser/color-scheme-and-title.js';
import { EventStream } from './browser/event-stream.js';
import { PageStore } from './browser/page-store.js';
import { headlineOf } from './model/alarms.js';
import { assignSlots } from './model/colors.js';
import { baseUrlOf } from './model/route.js';
import { App } from './view/app.js';

const baseUrl = baseUrlOf(location.href);
const store = new PageStore(() => performance.now());
const ticker = new Ticker();
const scheme = new SchemeChoice();
const slots = new Map<string, ReadonlyMap<string, number>>();

function slotsOf({ path, members }: GroupView): ReadonlyMap<string, number> {
  const ids = members.map(({ id }) => id);
  const known = slots.get(path);
  if (known?.size === ids.length && ids.every((id) => known.has(id))) return known;
  const assigned = assignSlots(known ?? new Map(), ids);
  slots.set(path, assigned);
  return assigned;
}

// Not in an animation frame: a hidden window gets no frames, but its title and icon are still visible.
store.subscribe(() => {
  if (store.model !== undefined) showInWindow(headlineOf(store.model.state, store.isLive));
});
ticker.start();
render(
  <App page={{ store, ticker, scheme, baseUrl, slotsOf }} />,
  document.getElementById('page') as HTMLElement,
);

const stream = new EventStream(`${baseUrl}api/events`, store, {
  open: (url) => new EventSource(url),
  later: (run, ms) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
  random: Math.random,
});
stream.open();
addEventListener('online', () => stream.hurry());
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) stream.hurry();
});
