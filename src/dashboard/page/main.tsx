import { render } from 'preact';
import { EventStream } from './browser/event-stream.js';
import { PageStore } from './browser/page-store.js';
import { SchemeChoice, showInWindow, Ticker } from './browser/scheme-choice.js';
import { headlineOf } from './model/alarms.js';
import { MemberSlots } from './model/member-slots.js';
import { baseUrlOf } from './model/route.js';
import { App } from './view/app.js';

const baseUrl = baseUrlOf(location.href);
const store = new PageStore(() => performance.now());
const ticker = new Ticker();
const scheme = new SchemeChoice();
const slots = new MemberSlots();

// Not in an animation frame: a hidden window gets no frames, but its title and icon are still visible.
store.subscribe(() => {
  if (store.model === undefined) return;
  const { state } = store.model;
  slots.keep(state.groups);
  showInWindow(headlineOf(state, store.isLive));
});
ticker.start();
render(
  <App page={{ store, ticker, scheme, baseUrl, slotsOf: (group) => slots.of(group) }} />,
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
