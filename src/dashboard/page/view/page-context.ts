import { createContext } from 'preact';
import { useContext, useEffect, useLayoutEffect, useReducer } from 'preact/hooks';
import type { GroupView } from '../../api-types.js';
import type { ColorScheme } from '../browser/color-scheme.js';
import type { PageStore, Ticker } from '../browser/page-store.js';
import type { Action } from '../browser/send-action.js';

/** The objects that all parts of the page use. */
export interface Page {
  readonly store: PageStore;
  readonly ticker: Ticker;
  readonly scheme: ColorScheme;
  readonly baseUrl: string;
  /** The dashboard shows the elections below this path. */
  readonly root: string;
  /** Asks the visitor to confirm an action, then carries it out. `null` if the visitor may not act. */
  readonly ask: ((action: Action) => void) | null;
  /** The numbers of the members' colors, by the members' ids. */
  readonly slotsOf: (group: GroupView) => ReadonlyMap<string, number>;
}

export const PageContext = createContext<Page | null>(null);

export function usePage(): Page {
  const page = useContext(PageContext);
  if (page === null) throw new Error('a part of the page was drawn outside of PageContext.Provider');
  return page;
}

/** Draws again in the next frame after a change. All changes until that frame share one drawing. */
export function useChanges(subscribe: (listener: () => void) => () => void): void {
  const [, draw] = useReducer((count: number) => count + 1, 0);
  // A layout effect runs together with the first drawing. An effect runs in a later frame, and would miss the changes until then.
  useLayoutEffect(() => {
    let frame: number | undefined;
    const end = subscribe(() => {
      frame ??= requestAnimationFrame(() => {
        frame = undefined;
        draw(undefined);
      });
    });
    return () => {
      if (frame !== undefined) cancelAnimationFrame(frame);
      end();
    };
  }, [subscribe]);
}

/** Calls `show` after each drawing and at each tick of the clock. */
export function useTicks(show: () => void): void {
  const { ticker } = usePage();
  useLayoutEffect(() => {
    show();
    return ticker.add(show);
  });
}

/** Draws the part again at each tick of the clock. */
export function useSecond(): void {
  const { ticker } = usePage();
  const [, draw] = useReducer((count: number) => count + 1, 0);
  useEffect(() => ticker.add(() => draw(undefined)), [ticker]);
}

export function useIsDark(): boolean {
  const { scheme } = usePage();
  const [, draw] = useReducer((count: number) => count + 1, 0);
  useEffect(() => scheme.subscribe(() => draw(undefined)), [scheme]);
  return scheme.isDark;
}
