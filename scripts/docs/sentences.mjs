import { readPage } from './pages.mjs';

const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' });

/**
 * Finds sentences with more words than allowed. A code span counts as one word.
 *
 * @param {import('./pages.mjs').Page} page
 * @param {number} most - how many words a sentence may have
 * @returns {string[]}
 */
export function longSentencesIn({ file, prose }, most) {
  return prose.flatMap(({ line, text }) =>
    sentencesOf(text).flatMap((sentence) => {
      const words = sentence.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
      return words > most ? [`${file}:${line}: ${words} words, at most ${most}: ${sentence}`] : [];
    }),
  );
}

/** @param {string} text @returns {string[]} */
export function sentencesOf(text) {
  return [...segmenter.segment(text)].map(({ segment }) => segment.trim()).filter(Boolean);
}

/** @param {readonly string[]} files @param {number} most @returns {string[]} */
export function longSentences(files, most) {
  return files.flatMap((file) => longSentencesIn(readPage(file), most));
}
