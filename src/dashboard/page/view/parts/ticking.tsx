import { useRef } from 'preact/hooks';
import { usePage, useTicks } from '../page-context.js';

/** Text that changes with time. Only the text node changes then. The page draws nothing again. */
export function Ticking({ text }: { text: (now: number) => string }) {
  const { store } = usePage();
  const span = useRef<HTMLSpanElement>(null);
  const current = () => text(store.now());
  useTicks(() => {
    const letters = span.current?.firstChild;
    const next = current();
    if (letters instanceof Text && letters.data !== next) letters.data = next;
  });
  return <span ref={span}>{current()}</span>;
}
