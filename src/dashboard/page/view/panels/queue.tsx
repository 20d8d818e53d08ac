import type { ComponentChildren, RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { Foreign } from '../parts/untrusted-text.js';

export interface QueueRow {
  readonly node: string;
  readonly id: string;
  readonly data: string | undefined;
  /** Whether it leads, or holds the lock. */
  readonly isFirst: boolean;
  readonly badges: ComponentChildren;
}

const MOST_ROWS = 200;

/** Those who wait for an election or a lock, in their order. The page shows how one moves up. */
export function Queue({ rows, empty }: { rows: readonly QueueRow[]; empty: string }) {
  const list = useRef<HTMLOListElement>(null);
  useMovingRows(list);
  if (rows.length === 0) return <p class="quiet">{empty}</p>;
  return (
    <>
      <ol class="queue" ref={list}>
        {rows.slice(0, MOST_ROWS).map(({ node, id, data, isFirst, badges }, index) => (
          <li key={node} data-key={node} data-leads={isFirst}>
            <span class="position quiet">{index + 1}</span>
            <span class="candidate">
              <Foreign class="candidate-id" text={id} />
              {data !== undefined && data !== '' && <Foreign class="note" text={data} />}
            </span>
            <span class="badges">{badges}</span>
          </li>
        ))}
      </ol>
      {rows.length > MOST_ROWS && <p class="quiet">{`and ${rows.length - MOST_ROWS} more`}</p>}
    </>
  );
}

const MOVING_MS = 350;
const MOST_MOVED = 60;

/** Moves the rows of a list from their former places to their new ones, and fades new rows in. Each row needs a `data-key`. */
function useMovingRows(list: RefObject<HTMLElement | null>): void {
  const former = useRef<ReadonlyMap<string, number>>(new Map());
  useLayoutEffect(() => {
    const rows = ([...(list.current?.children ?? [])] as HTMLElement[]).slice(0, MOST_MOVED);
    const keys = rows.map((row) => row.dataset.key ?? '');
    // Reading a row's place makes the browser lay out the page. So do that only if the rows or their order have changed.
    const before = former.current;
    if (keys.join('\n') === [...before.keys()].join('\n')) return;
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
