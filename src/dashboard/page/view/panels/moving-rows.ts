import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

const MOVING_MS = 350;
const MOST_MOVED = 60;

/** Moves the rows of a list from their former places to their new ones, and fades new rows in. Each row needs a `data-key`. */
export function useMovingRows(list: RefObject<HTMLElement | null>): void {
  const former = useRef<ReadonlyMap<string, number>>(new Map());
  useLayoutEffect(() => {
    const rows = ([...(list.current?.children ?? [])] as HTMLElement[]).slice(0, MOST_MOVED);
    const keys = rows.map((row) => row.dataset.key ?? '');
    // Reading a row's place makes the browser lay out the page. So do that only if the rows or their order have changed.
    const before = former.current;
    const isSame =
      keys.length === before.size && keys.every((key, index) => [...before.keys()][index] === key);
    if (isSame) return;
    const tops = new Map(rows.map((row, index) => [keys[index] as string, row.offsetTop]));
    former.current = tops;
    if (before.size === 0 || matchMedia('(prefers-reduced-motion: reduce)').matches) return;
    for (const [index, row] of rows.entries()) {
      const top = before.get(keys[index] as string);
      if (top === undefined) row.animate([{ opacity: 0 }, { opacity: 1 }], MOVING_MS);
      else if (top !== row.offsetTop)
        row.animate([{ transform: `translateY(${top - row.offsetTop}px)` }, { transform: 'none' }], {
          duration: MOVING_MS,
          easing: 'cubic-bezier(.2,.7,.3,1)',
        });
    }
  });
}
