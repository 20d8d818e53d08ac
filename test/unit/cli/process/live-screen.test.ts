import { describe, expect, it } from 'vitest';
import { LiveScreen } from '../../../../src/cli/process/live-screen.js';

function terminal(rows: number) {
  const written: string[] = [];
  return { rows, write: (text: string) => void written.push(text), written };
}

describe('a live screen', () => {
  it('draws one frame over the last one, and gives the terminal back once', () => {
    const target = terminal(10);
    const screen = new LiveScreen(target);
    screen.draw(['one', 'two']);
    screen.draw(['three']);
    screen.end();
    screen.end();
    expect(target.written).toEqual([
      '\u001b[?1049h\u001b[?25l\u001b[?2026h\u001b[Hone\u001b[K\r\ntwo\u001b[K\u001b[J\u001b[?2026l',
      '\u001b[?2026h\u001b[Hthree\u001b[K\u001b[J\u001b[?2026l',
      '\u001b[?25h\u001b[?1049l',
    ]);
  });

  it('says how many lines do not fit, by the size that the terminal has now', () => {
    const target = terminal(3);
    const screen = new LiveScreen(target);
    screen.draw(['1', '2', '3', '4']);
    expect(target.written.at(-1)).toContain('1\u001b[K\r\n2\u001b[K\r\n… 2 more\u001b[K');
    target.rows = 4;
    screen.draw(['1', '2', '3', '4']);
    expect(target.written.at(-1)).not.toContain('more');
    target.rows = 1;
    screen.draw(['1', '2']);
    expect(target.written.at(-1)).toContain('… 2 more');
  });

  it('leaves a terminal alone on which nothing was drawn', () => {
    const target = terminal(3);
    new LiveScreen(target).end();
    expect(target.written).toEqual([]);
  });
});
