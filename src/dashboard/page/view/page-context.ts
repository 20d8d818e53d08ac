import { createContext } from 'preact';
import { useContext, useLayoutEffect, useReducer } from 'preact/hooks';
import type { ColorScheme } from '../browser/color-scheme.js';
import type { Listeners } from '../browser/listeners.js';
import type { PageStore } from '../browser/page-store.js';
import type { Action } from '../browser/send-action.js';

/** The objects that all parts of the page use. */
export interface Page {
  readonly store: PageStore;
  /** Calls its listeners once a second, while the page is visible. */
  readonly ticks: Listeners;
  readonly scheme: ColorScheme;
  readonly baseUrl: string;
  /** The dashboard shows the elections below this path. */
  readonly root: string;
  /** Asks the visitor to confirm an action, then carries it out. `null` if the visitor may not act. */
  readonly ask: ((action: Action) => void) | null;
}

export const PageContext = createContext<Page | null>(null);

export function usePage(): Page {
  const page = useContext(PageContext);
  if (page === null) throw new Error('a part of the page was drawn outside of PageContext.Provider');
  return page;
}

/** Draws the part again in the next frame after a change. All changes until that frame share one drawing. */
export function useChanges(changes: Listeners): void {
  const [, draw] = useReducer((count: number) => count + 1, 0);
  // A layout effect runs together with the first drawing. An effect runs in a later frame, and would miss the changes until then.
  useLayoutEffect(() => {
    let frame: number | undefined;
    const end = changes.add(() => {
      frame ??= requestAnimationFrame(() => {
        frame = undefined;
        draw(undefined);
      });
    });
    return () => {
      if (frame !== undefined) cancelAnimationFrame(frame);
      end();
    };
  }, [changes]);
}

/** Calls `show` after each drawing and at each tick of the clock. */
export function useTicks(show: () => void): void {
  const { ticks } = usePage();
  useLayoutEffect(() => {
    show();
    return ticks.add(show);
  });
}

/** Calls `press` at each key that is pressed. */
export function useKeyDown(press: (event: KeyboardEvent) => void): void {
  // Before the first frame: a key that is pressed as soon as the page is seen must not be lost.
  useLayoutEffect(() => {
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
  });
}
