import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { hashOf } from '../../model/address-hash.js';
import { nameOf } from '../../model/display-text.js';
import type { Tone } from '../../model/urgency-and-search.js';
import { usePage } from '../page-context.js';
import { Foreign } from '../parts/untrusted-text.js';

/** The frame of the panel that is open beside the cards. */
export function Panel(props: { path: string; tone: Tone; kind: string; children: ComponentChildren }) {
  const { path, tone, kind, children } = props;
  const { root } = usePage();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus({ preventScroll: true }), [path]);
  return (
    <aside class="panel" data-tone={tone} aria-labelledby="panel-heading">
      <header class="panel-head">
        <div>
          <p class="kind">{kind}</p>
          <h2 id="panel-heading" tabIndex={-1} ref={heading}>
            <Foreign isFull text={nameOf(path, root)} />
          </h2>
          <p class="path">
            <Foreign text={path} />
          </p>
        </div>
        <a
          class="button close"
          href={hashOf({ open: null, query: '' })}
          aria-label="Close"
          title="Close (Esc)"
        >
          ✕
        </a>
      </header>
      <div class="panel-body">{children}</div>
    </aside>
  );
}

/** A part of a panel with a heading. */
export function Section({
  title,
  note,
  children,
}: {
  title: string;
  note?: string;
  children: ComponentChildren;
}) {
  return (
    <section>
      <h3>
        {title}
        {note !== undefined && <span class="quiet"> {note}</span>}
      </h3>
      {children}
    </section>
  );
}

/** The panel for a path in the page's address that doesn't exist, or doesn't exist any more. */
export function MissingPanel({ path }: { path: string }) {
  return (
    <Panel path={path} tone="idle" kind="Not there">
      <p>There is nothing at this path now.</p>
    </Panel>
  );
}

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
