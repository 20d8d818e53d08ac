import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, slashed } from '../build/sources.mjs';
import { readPage } from './pages.mjs';

/** @typedef {{ line: number, text: string }} Text - a paragraph, in which a code span is one word */

const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' });
const AUXILIARIES = 'is|are|was|were|does|did|has|had|can|must|may|will';
/** Sentences whose subject is a clause or comes last: "What was seen is kept", "Nor does it wait". */
const CONVOLUTED = [
  /^What(?: [^\s,:;]+)+ (?:is|are|was|were|isn't|aren't|wasn't|weren't)\b.*[^?]$/,
  /^(?:Whatever|Who(?:m|se)?ever)\b/,
  new RegExp(`^So (?:${AUXILIARIES})\\b`),
  new RegExp(`^(?:Nor|Neither) (?:${AUXILIARIES}|do)\\b`),
];
/** A comment between slashes and stars, or lines of comments behind two slashes. */
const COMMENT = /\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/ .*(?:\n[ \t]*\/\/.*)*/gm;

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

/**
 * Finds sentences that begin with "What … is", "Whatever", "So is" or "Nor does". A reader has to read them twice: `docs/style.md`.
 *
 * @param {string} file
 * @param {readonly Text[]} texts
 * @returns {string[]}
 */
export function convolutedSentencesIn(file, texts) {
  return texts.flatMap(({ line, text }) =>
    sentencesOf(text)
      .filter((sentence) => CONVOLUTED.some((form) => form.test(sentence)))
      .map((sentence) => `${file}:${line}: who does what? ${sentence}`),
  );
}

/**
 * The paragraphs of the comments in a program, without the marks of lists and the names of tags.
 *
 * @param {string} program
 * @returns {Text[]}
 */
export function commentsIn(program) {
  return [...program.matchAll(COMMENT)].flatMap(({ index, 0: comment }) => {
    const lines = comment
      .split('\n')
      .map((each) => each.replace(/^\s*(?:\/\*\*?|\*\/|\*|\/\/)\s?|\s*\*\/\s*$/g, ''));
    const first = program.slice(0, index).split('\n').length;
    /** @type {Text[]} */
    const paragraphs = [];
    let isOpen = false;
    lines.forEach((each, at) => {
      const last = paragraphs.at(-1);
      const text = plain(each);
      if (text === '') isOpen = false;
      else if (isOpen && last !== undefined && !/^(?:- |@|\d+\. )/.test(each.trim())) last.text += ` ${text}`;
      else isOpen = paragraphs.push({ line: first + at, text }) > 0;
    });
    return paragraphs;
  });
}

/** @param {string} line of a comment */
function plain(line) {
  return line
    .trim()
    .replace(/^(?:- |\d+\. |@\w+ (?:\{.*?\} )?(?:[\w.[\]]+ - )?)/, '')
    .replace(/`[^`]+`|\{@link [^}]+\}/g, 'Code');
}

/**
 * @param {readonly string[]} pages
 * @param {string} folder - whose programs' comments are looked at
 * @returns {string[]}
 */
export function convolutedSentences(pages, folder) {
  const programs = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => slashed(join(folder, name)));
  return [
    ...pages.flatMap((file) => convolutedSentencesIn(file, readPage(file).prose)),
    ...programs.flatMap((file) =>
      convolutedSentencesIn(file, commentsIn(readFileSync(join(ROOT, file), 'utf8'))),
    ),
  ];
}
