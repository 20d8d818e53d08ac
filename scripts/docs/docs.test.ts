import { describe, expect, it } from 'vitest';
import { CHECKS, MOST_WORDS } from './all.mjs';
import { snippetsWithoutImports, wrongSnippets } from './code.mjs';
import { brokenLinksIn } from './links.mjs';
import { markdownFiles, parsePage, readPage } from './pages.mjs';
import { commentsIn, convolutedSentencesIn, longSentencesIn, sentencesOf } from './sentences.mjs';
import { commandsOf, whyMissing, workflowFiles } from './shell.mjs';

// The compiler and the spelling checker take seconds. On a busy machine they take more than the usual minute.
const PATIENCE_MS = 240_000;

describe('README and docs', () => {
  it.each([
    ['links', 'lead somewhere'],
    ['commands', 'exist'],
    ['workflows', 'run commands that exist'],
    ['code', 'compiles'],
    ['imports', 'are in each block that needs them'],
    ['sentences', 'are short where they have to be'],
    ['forms', 'are those of plain sentences, in the comments of src too'],
    ['spelling', 'is right'],
  ] as const)(
    '%s: %s',
    async (check, _what) => {
      expect(await CHECKS[check]()).toEqual([]);
    },
    PATIENCE_MS,
  );

  it('are all looked at', () => {
    const files = markdownFiles();
    expect(files).toEqual(
      expect.arrayContaining(['README.md', 'docs/guides/cron.md', 'examples/demo/README.md']),
    );
    const pages = files.map((file) => readPage(file));
    expect(pages.flatMap(({ links }) => links).length).toBeGreaterThan(100);
    expect(pages.flatMap(({ code }) => code).length).toBeGreaterThan(30);
  });
});

describe('a page', () => {
  const text = [
    '# The `code`, and *more*',
    '',
    'See [this](other.md#part) and ![that](picture.svg).',
    '',
    '    npm run demo',
    '',
    '```js',
    'await demo();',
    '```',
    '',
    '## The `code`, and more',
  ].join('\n');

  it('is taken apart into what is checked', () => {
    const { anchors, links, code, prose } = parsePage('page.md', text);
    expect(anchors).toEqual(['the-code-and-more', 'the-code-and-more-1']);
    expect(links).toEqual([
      { line: 3, target: 'other.md#part' },
      { line: 3, target: 'picture.svg' },
    ]);
    expect(code).toEqual([
      { line: 5, language: '', text: 'npm run demo\n' },
      { line: 7, language: 'js', text: 'await demo();\n' },
    ]);
    expect(prose[0]).toEqual({ line: 1, text: 'The Code, and more', code: ['code'] });
  });

  it('has sentences, of which the long ones are reported', () => {
    const words = (count: number) => `${Array(count).fill('Word').join(' ')}.`;
    expect(sentencesOf('It is. Is it? Version 3.8 is `a.b`.')).toHaveLength(3);
    const page = parsePage(
      'page.md',
      `${words(MOST_WORDS)} ${words(MOST_WORDS)}\n\n- ${words(MOST_WORDS + 1)}\n`,
    );
    expect(longSentencesIn(page, MOST_WORDS)).toEqual([
      `page.md:3: 26 words, at most 25: ${words(MOST_WORDS + 1)}`,
    ]);
    const table = parsePage('page.md', `| a | b |\n|---|---|\n| ${words(20)} | ${words(20)} |\n`);
    expect(longSentencesIn(table, MOST_WORDS)).toEqual([]);
  });
});

describe('a sentence', () => {
  const found = (...texts: string[]) =>
    convolutedSentencesIn(
      'page.md',
      texts.map((text, at) => ({ line: at + 1, text })),
    ).map((problem) => Number(problem.split(':')[1]));

  it('is reported if its subject is a clause, or comes last', () => {
    const wrong = [
      "What nothing was heard of needn't be read again.",
      'What is refused is left out.',
      'It is plain. Whatever it throws, it goes on.',
      'Whoever waits is next.',
      'So is the other one.',
      'Nor does it wait.',
      'Neither are they.',
    ];
    expect(found(...wrong)).toEqual([1, 2, 3, 4, 5, 6, 7]);
  });

  it('is right if it asks, names what follows, or has its subject first', () => {
    const right = [
      'What is it that was refused?',
      'What is refused',
      'What a candidate has seen: nothing, or what was read.',
      'So a reader is served at the first reading.',
      'So do that only once.',
      'It does whatever is left.',
    ];
    expect(found(...right)).toEqual([]);
  });

  it('of a comment is found with its line, without code, marks of lists and tags', () => {
    const program = [
      'const a = 1; // One line.',
      '',
      '/**',
      ' * A paragraph with `code` that',
      ' * goes on.',
      ' * - an item',
      ' * @param b - the second one',
      ' */',
      'f(); // Two',
      '     // lines.',
    ].join('\n');
    expect(commentsIn(program)).toEqual([
      { line: 1, text: 'One line.' },
      { line: 4, text: 'A paragraph with Code that goes on.' },
      { line: 6, text: 'an item' },
      { line: 7, text: 'the second one' },
      { line: 9, text: 'Two lines.' },
    ]);
  });
});

describe('a link', () => {
  const root = import.meta.dirname;
  it('is reported when it leads nowhere', () => {
    expect(brokenLinksIn(['fixtures/links.md'], { root })).toEqual([
      'fixtures/links.md:5: missing.md: there is no such file',
      'fixtures/links.md:6: #not-here: there is no such heading',
      'fixtures/links.md:7: http://example.org: expected an https address',
      'fixtures/links.md:8: https://github.com/conclave-js/conclave/blob/main/README.md: expected a relative link',
    ]);
  });
});

describe('a command', () => {
  const known = {
    scripts: new Set(['demo']),
    commands: new Set(['run']),
    exists: (path: string) => path === 'examples/a.mjs',
  };
  it.each([
    ['    npm run demo -- --real   # as npm run nothing', undefined],
    ['ZOOKEEPER=x npm test', undefined],
    ['npm run build && node examples/a.mjs', 'package.json has no script build'],
    ['node examples/b.mjs', 'there is no examples/b.mjs'],
    ['npx vitest run test/unit', 'there is no test/unit'],
    ['npx conclave dev-server', 'conclave has no command dev-server'],
    ['conclave run /elections/report -- ./report.sh', undefined],
    ['docker compose up', undefined],
    ['.ci/runs', 'there is no .ci/runs'],
    ['npx vitest run examples/a.mjs scripts/nothing', 'there is no scripts/nothing'],
  ])('is reported when it does not exist: %s', (line, why) => {
    expect(whyMissing(line, known)).toBe(why);
  });
});

it('a workflow has its commands looked at, each line of a step by itself', () => {
  const workflow = [
    'jobs:',
    '  node:',
    '    steps:',
    '      - uses: actions/checkout@v4',
    '      - run: npm ci',
    '  all:',
    '    steps:',
    '      - run: |',
    '          npm run lint',
    '          .ci/run',
    '      - run: >-',
    '          npx vitest run',
    '          test/unit',
  ].join('\n');
  expect(commandsOf(workflow)).toEqual(['npm ci', 'npm run lint', '.ci/run', 'npx vitest run test/unit']);
  expect(workflowFiles()).toContain('.github/workflows/ci.yml');
});

describe('a code block', () => {
  it(
    'is reported when it uses what Conclave exports, and does not import it',
    () => {
      const texts = [
        "import { ElectionSupervisor } from 'conclave';\nconst one = new ElectionSupervisor(options);\n",
        'const one = new ElectionSupervisor(options);\n',
        '      providers: [{ provide: ElectionSupervisor, metrics: given.metrics }],\n    };\n  }\n',
        'function metrics() {}\nsay(metrics());\n',
        'async function start(clock = new TestClock()) {\n  return { clock };\n}\n',
      ];
      expect(snippetsWithoutImports(texts.map((text, line) => ({ file: 'a.md', line, text })))).toEqual([
        "a.md:1: the block lacks import { ElectionSupervisor } from 'conclave'",
        "a.md:2: the block lacks import { ElectionSupervisor } from 'conclave'",
        "a.md:4: the block lacks import { TestClock } from 'conclave/testing'",
      ]);
    },
    PATIENCE_MS,
  );

  it(
    'is compiled against what is published, and names of its own need no declaration',
    () => {
      const texts = [
        "import { Session } from 'conclave';\nawait use(await Session.connect(servers));\n",
        'const lock = new DistributedLock(session, path);\nawait lock.using(job);\n',
        'term.held();\n',
        "import { Seance } from 'conclave';\n\nnew ElectionSupervisor({ conect: '' });\n",
        'await (;\n',
      ];
      const found = wrongSnippets(texts.map((text, index) => ({ file: `${index}.md`, line: 10, text })));
      const expected = [
        "2.md:11: Property 'held' does not exist",
        '3.md:11: ',
        '3.md:13: Object literal may only',
        '4.md:11: ',
      ];
      expect(found.sort()).toEqual(expected.map((start) => expect.stringMatching(new RegExp(`^${start}`))));
    },
    PATIENCE_MS,
  );
});
