import { createContext } from 'preact';
import { useContext, useEffect, useLayoutEffect, useReducer } from 'preact/hooks';
import type { GroupView } from '../../api.js';
import type { Action } from '../browser/actions.js';
import type { PageStore } from '../browser/page-store.js';
import type { SchemeChoice } from '../browser/scheme.js';
import type { Ticker } from '../browser/ticker.js';

/** What all parts of the page use. */
export interface Page {
  readonly store: PageStore;
  readonly ticker: Ticker;
  readonly scheme: SchemeChoice;
  readonly baseUrl: string;
  /** The path below which the elections are. */
  readonly root: string;
  /** Asks the visitor, and carries it out. `null`: the visitor may not. */
  readonly ask: ((action: Action) => void) | null;
  /** The numbers of the members' colors, by id. */
  readonly slotsOf: (group: GroupView) => ReadonlyMap<string, number>;
}

export const PageContext = createContext<Page | null>(null);

export function usePage(): Page {
  const page = useContext(PageContext);
  if (page === null) throw new Error('there is no page around this part of it');
  return page;
}

/** Draws again with the next frame after each change, however many there are in between. */
export function useChanges(subscribe: (listener: () => void) => () => void): void {
  const [, draw] = useReducer((count: number) => count + 1, 0);
  // A layout effect is done when the first drawing is. An effect comes with a later frame, and would miss what is between.
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

/** Calls after each drawing and at each tick of the clock. */
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
