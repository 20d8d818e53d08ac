import { shortened, visibleText } from '../../model/display-text.js';

/** Longer text is shortened. Its box would cut it off anyway, and the text may be meant to slow the page down. */
const MOST_CHARACTERS = 256;
/** The limit in a panel. No sensible name of a znode and no sensible id is longer. */
const MOST_IN_FULL = 8_192;

/**
 * Text that comes from ZooKeeper, and so from processes that this page doesn't know. It is always a text node, its writing
 * direction doesn't affect the text beside it, and its invisible characters are shown.
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
