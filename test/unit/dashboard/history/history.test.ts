import {
  closeSync,
  fstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { History } from '../../../../src/dashboard/history/history.js';
import type { ElectionView, TermView } from '../../../../src/overview/model/views.js';
import { TestClock } from '../../../../src/testing/controls/test-clock.js';
import { onTestFinished } from '../../../support/vitest/test-end.js';
import { until } from '../../../support/waiting.mjs';

function setUp() {
  const folder = mkdtempSync(join(tmpdir(), 'conclave-history-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const clock = new TestClock();
  const errors: unknown[] = [];
  const file = join(folder, 'inner', 'history.jsonl');
  const open = () => History.open(file, clock, (error) => void errors.push(error));
  const read = () => readFileSync(file, 'utf8');
  const lines = () => read().split('\n').slice(0, -1);
  const tail = () => {
    const descriptor = openSync(file, 'r');
    const bytes = Buffer.alloc(1000);
    const { size } = fstatSync(descriptor);
    const length = readSync(descriptor, bytes, 0, bytes.length, Math.max(0, size - bytes.length));
    closeSync(descriptor);
    return bytes.toString('utf8', 0, length);
  };
  const reaches = (text: string) => until(() => tail().includes(text), text);
  return { folder, clock, errors, file, open, read, lines, reaches };
}

const termOf = (term: number): TermView => ({ term, id: 'one', from: term, to: null, end: null });
const changeOf = (term: number, path = '/a') => ({
  elections: [{ path, terms: [termOf(term)] } as unknown as ElectionView],
});
const joined = (id: string) => ({
  transitions: [{ at: 1, path: '/a', kind: 'joined' as const, id }],
});
const lineOf = (value: object) => `${JSON.stringify(value)}\n`;

describe('the file of a history', () => {
  it('loses nothing that could not be written, and is tried again after 10 s', async () => {
    const { folder, clock, errors, open, lines } = setUp();
    const history = open();
    history.take(joined('one'));
    await until(() => errors.length === 1, 'the first failure');
    history.take(joined('two'));
    history.take(joined('three'));
    await clock.advance(5000);
    expect(errors).toHaveLength(1);
    await clock.advance(5000);
    await until(() => errors.length === 2, 'the second failure');
    mkdirSync(join(folder, 'inner'));
    await clock.advance(10_000);
    await history.close();
    expect(errors).toHaveLength(2);
    const ids = lines().map((line) => (JSON.parse(line) as { transition?: { id: string } }).transition?.id);
    expect(ids).toEqual([undefined, 'one', 'two', 'three']);
    expect(clock.timerCount).toBe(0);
  });

  it('gets what could not be written before when it is closed, without another pause', async () => {
    const { folder, clock, errors, open, read } = setUp();
    const history = open();
    await until(() => errors.length === 1, 'the failure');
    history.take(joined('one'));
    mkdirSync(join(folder, 'inner'));
    await history.close();
    expect(read()).toContain('"id":"one"');
    expect(clock.timerCount).toBe(0);
  });

  it('is written anew once, and not at each change, if what is kept has more than 8 MiB', async () => {
    const { folder, file, open, lines, reaches, errors } = setUp();
    mkdirSync(join(folder, 'inner'));
    const name = 'n'.repeat(2000);
    const rows = Array.from({ length: 5000 }, (_, at) =>
      lineOf({ kind: 'term', path: `/${name}/${at % 50}`, term: termOf(at) }),
    );
    writeFileSync(file, `${lineOf({ kind: 'since', at: 5 })}${rows.join('')}`);
    const history = open();
    history.take(changeOf(1_000_000));
    await reaches('1000000');
    const { ino } = statSync(file);
    for (let term = 1_000_001; term < 1_000_010; term++) {
      history.take(changeOf(term));
      await reaches(String(term));
      expect(statSync(file).ino).toBe(ino);
    }
    await history.close();
    expect(lines()).toHaveLength(1 + 5000 + 10);
    expect(errors).toEqual([]);
    expect(readdirSync(join(folder, 'inner'))).toEqual(['history.jsonl']);
  });

  it('is written anew once also if more comes before that is done', async () => {
    const { folder, file, open, lines } = setUp();
    mkdirSync(join(folder, 'inner'));
    const path = `/${'n'.repeat(2000)}`;
    const rows = Array.from({ length: 5000 }, (_, at) => lineOf({ kind: 'term', path, term: termOf(at) }));
    writeFileSync(file, rows.join(''));
    const history = open();
    history.take(joined('one'));
    history.take(changeOf(5000));
    await history.close();
    // Where everything is written anew, the terms come before the transitions: this one was appended.
    const kinds = lines().map((line) => (JSON.parse(line) as { kind: string }).kind);
    expect(kinds.slice(-3)).toEqual(['term', 'transition', 'term']);
  });

  it('loses what is no longer shown when it is written anew, and nothing that comes meanwhile', async () => {
    const { folder, file, open, lines, reaches } = setUp();
    mkdirSync(join(folder, 'inner'));
    const path = `/${'n'.repeat(2000)}`;
    const rows = Array.from({ length: 5000 }, (_, at) => lineOf({ kind: 'term', path, term: termOf(at) }));
    writeFileSync(file, rows.join(''));
    const history = open();
    history.take(joined('one'));
    history.take(joined('two'));
    await reaches('"two"');
    await history.close();
    const kinds = lines().map((line) => (JSON.parse(line) as { kind: string }).kind);
    expect(kinds).toEqual([...Array.from({ length: 100 }, () => 'term'), 'transition', 'transition']);
    const { past } = open();
    expect(past.terms.get(path)?.at(-1)).toEqual(termOf(4999));
    expect(past.transitions.map(({ id }) => id)).toEqual(['two', 'one']);
  });

  it('gets each state of a term once', async () => {
    const { folder, open, lines } = setUp();
    mkdirSync(join(folder, 'inner'));
    const history = open();
    for (let times = 0; times < 3; times++) history.take(changeOf(1));
    await history.close();
    expect(lines()).toHaveLength(2);
  });
});
