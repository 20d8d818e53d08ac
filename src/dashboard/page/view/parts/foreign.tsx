import { shortened, visibleText } from '../../model/visible-text.js';

/** More is not drawn: what is longer is cut off by its box, or meant to slow the page down. */
const MOST_CHARACTERS = 256;
/** The panel of an election shows up to what a znode's name or an id may reasonably have. */
const MOST_IN_FULL = 8_192;

/**
 * Text that comes from ZooKeeper: from processes that this page doesn't know. It is a text node in every case, its
 * direction doesn't touch what stands beside it, and what is invisible in it is shown.
 */
export function Foreign({ text, isFull = false }: { text: string; isFull?: boolean }) {
  const shown = visibleText(shortened(text, MOST_IN_FULL));
  if (isFull)
    return (
      <bdi dir="auto" class="foreign full">
        {shown}
      </bdi>
    );
  return (
    <bdi dir="auto" class="foreign" title={shown}>
      {shortened(shown, MOST_CHARACTERS)}
    </bdi>
  );
}
