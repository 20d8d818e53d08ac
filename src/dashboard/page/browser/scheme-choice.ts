import type { Headline } from '../model/alarms.js';
import { visibleText } from '../model/format.js';

const SCHEMES = ['auto', 'light', 'dark'] as const;
export type Scheme = (typeof SCHEMES)[number];

const KEY = 'conclave-color-scheme';
const prefersDark = matchMedia('(prefers-color-scheme: dark)');

/** The page's colors: the system's or the reader's choice. The browser remembers the choice if it allows storage. */
export class SchemeChoice {
  #scheme: Scheme = stored();
  readonly #listeners = new Set<() => void>();

  constructor() {
    this.#show();
    prefersDark.addEventListener('change', () => this.#notify());
  }

  get scheme(): Scheme {
    return this.#scheme;
  }

  get isDark(): boolean {
    return this.#scheme === 'auto' ? prefersDark.matches : this.#scheme === 'dark';
  }

  /** Changes to the next of the three schemes. */
  change(): void {
    this.#scheme = SCHEMES[(SCHEMES.indexOf(this.#scheme) + 1) % SCHEMES.length] as Scheme;
    store(this.#scheme);
    this.#show();
    this.#notify();
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #show(): void {
    document.documentElement.dataset.scheme = this.#scheme;
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}

// If a browser refuses storage, reading `localStorage` already throws.
function stored(): Scheme {
  try {
    const value = localStorage.getItem(KEY);
    return SCHEMES.find((scheme) => scheme === value) ?? 'auto';
  } catch {
    return 'auto';
  }
}

function store(scheme: Scheme): void {
  try {
    localStorage.setItem(KEY, scheme);
  } catch {
    // Without storage the choice lasts as long as the page.
  }
}

const MARKS: Readonly<Record<Headline['tone'], string>> = {
  well: '<circle cx="16" cy="16" r="14" fill="#4057c4"/><circle cx="16" cy="16" r="5.5" fill="#fff"/>',
  warning:
    '<circle cx="16" cy="16" r="14" fill="#b86e00"/><path d="M16 8v10" stroke="#fff" stroke-width="4" stroke-linecap="round"/><circle cx="16" cy="23.500" r="2.400" fill="#fff"/>',
  alarm:
    '<rect width="32" height="32" rx="7" fill="#c8102e"/><path d="M9 9l14 14M23 9L9 23" stroke="#fff" stroke-width="5" stroke-linecap="round"/>',
};

/** Shows the headline in the window's title and icon, which a reader sees also while another window is in front. */
export function showInWindow(headline: Headline): void {
  const title = visibleText(headline.title);
  if (document.title !== title) document.title = title;
  const link = document.querySelector<HTMLLinkElement>('link[rel=icon]');
  const href = iconOf(headline.tone);
  if (link !== null && link.href !== href) link.href = href;
}

export function iconOf(tone: Headline['tone']): string {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">${MARKS[tone]}</svg>`;
  return `data:image/svg+xml,${encodeURIComponent(svg)}`;
}

const TICK_MS = 1_000;

/** Updates all times on the page once a second, while the page is visible. */
export class Ticker {
  readonly #ticked = new Set<() => void>();

  start(): void {
    setInterval(() => {
      if (!document.hidden) this.tick();
    }, TICK_MS);
    document.addEventListener('visibilitychange', () => this.tick());
  }

  tick(): void {
    for (const each of this.#ticked) each();
  }

  /** Calls `each` at each tick. Returns a function that ends this. */
  add(each: () => void): () => void {
    this.#ticked.add(each);
    return () => this.#ticked.delete(each);
  }
}
