import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
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
    <aside class="panel" aria-labelledby="panel-heading">
      <header class="panel-head" data-tone={tone}>
        <div>
          <p class="note">{kind}</p>
          <h2 id="panel-heading" tabIndex={-1} ref={heading}>
            <Foreign isFull text={nameOf(path, root)} />
          </h2>
          <p class="note">
            <Foreign text={path} />
          </p>
        </div>
        <a class="button" href={hashOf({ open: null, query: '' })} aria-label="Close" title="Close (Esc)">
          ✕
        </a>
      </header>
      <div class="panel-body">{children}</div>
    </aside>
  );
}

/** A part of a panel with a heading. */
export function Section(props: { title: string; note?: string; children: ComponentChildren }) {
  const { title, note, children } = props;
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
