import { shortened, visibleText } from '../../model/display-text.js';

/** Longer text is shortened. Its box would cut it off anyway, and the text may be meant to slow the page down. */
const MOST_CHARACTERS = 256;
/** The limit in a panel. No sensible name of a znode and no sensible id is longer. */
const MOST_IN_FULL = 8_192;

/**
 * Text that comes from ZooKeeper, and so from processes that this page doesn't know. It is always a text node, its writing
 * direction doesn't affect the text beside it, and its invisible characters are shown.
 */
export function Foreign(props: { text: string; isFull?: boolean; class?: string }) {
  const { text, isFull = false } = props;
  const shown = visibleText(shortened(text, MOST_IN_FULL));
  const classes = ['foreign', isFull ? 'full' : '', props.class ?? ''].join(' ').trim();
  return (
    <bdi dir="auto" class={classes} title={isFull ? undefined : shown}>
      {isFull ? shown : shortened(shown, MOST_CHARACTERS)}
    </bdi>
  );
}
