import { expect, it } from 'vitest';
import { sentencesOf, wordsIn } from './prose.js';

it('sentences are those of paragraphs, list items and cells, without code', () => {
  const page = [
    '# A title',
    'One [link that reads well](x.md). Two `a b c` words!\nStill the second paragraph',
    '',
    '- an item\n- **another** one',
    '',
    '| a cell | 5 | and: more |\n|---|---|---|',
    '```js\nnot. this.\n```',
    '    nor this',
  ].join('\n');
  expect(sentencesOf(page)).toEqual([
    'A title One link that reads well.',
    'Two code words!',
    'Still the second paragraph',
    'an item',
    'another one',
    'a cell',
    'and: more',
  ]);
});

it('words are counted without signs', () => {
  expect(wordsIn('one · two – 3 (four)')).toBe(4);
});
