import { missingImportsIn, wrongCodeIn } from './code.mjs';
import { brokenLinksIn } from './links.mjs';
import { markdownFiles } from './pages.mjs';
import { convolutedSentences, longSentences } from './sentences.mjs';
import { missingCommandsIn, missingCommandsOfWorkflows, workflowFiles } from './shell.mjs';
import { misspeltIn } from './spelling.mjs';

/** Pages in which each sentence has at most {@link MOST_WORDS} words. */
const SHORT_SENTENCES = /** @type {readonly string[]} */ (['README.md']);
export const MOST_WORDS = 25;

/** The page that quotes what not to write. */
const STYLE = 'docs/style.md';

/** The checks of all Markdown files and of the workflows' commands, each by its subject. */
export const CHECKS = {
  links: () => brokenLinksIn(markdownFiles()),
  commands: () => missingCommandsIn(markdownFiles()),
  workflows: () => missingCommandsOfWorkflows(workflowFiles()),
  code: () => wrongCodeIn(markdownFiles()),
  imports: () => missingImportsIn(markdownFiles()),
  sentences: () => longSentences(SHORT_SENTENCES, MOST_WORDS),
  forms: () =>
    convolutedSentences(
      markdownFiles().filter((file) => file !== STYLE),
      'src',
    ),
  spelling: () => misspeltIn(markdownFiles()),
};

/**
 * @param {readonly string[]} names - of checks; without any, all
 * @returns {Promise<string[]>} the problems
 */
export async function problemsOf(names) {
  const unknown = names.filter((name) => !(name in CHECKS));
  if (unknown.length > 0)
    throw new Error(`no check ${unknown.join(', ')}: expected some of ${Object.keys(CHECKS).join(', ')}`);
  const problems = [];
  for (const [name, check] of Object.entries(CHECKS))
    if (names.length === 0 || names.includes(name)) problems.push(...(await check()));
  return problems;
}
