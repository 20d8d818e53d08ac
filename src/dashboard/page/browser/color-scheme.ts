import { Listeners } from './listeners.js';

const SCHEMES = ['auto', 'light', 'dark'] as const;
export type Scheme = (typeof SCHEMES)[number];

const KEY = 'conclave-color-scheme';
const prefersDark = matchMedia('(prefers-color-scheme: dark)');

/** The page's colors: the system's or the reader's choice. The browser remembers the choice if it allows storage. */
export class ColorScheme {
  readonly changes = new Listeners();
  #scheme: Scheme = stored();

  constructor() {
    this.#show();
    prefersDark.addEventListener('change', () => this.changes.notify());
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
    this.changes.notify();
  }

  #show(): void {
    document.documentElement.dataset.scheme = this.#scheme;
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
