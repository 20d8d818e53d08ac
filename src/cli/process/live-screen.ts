/** What a {@link LiveScreen} needs of a terminal: `process.stdout` has it. */
export interface Terminal {
  readonly rows?: number | undefined;
  write(text: string): unknown;
}

// Every terminal of today knows these sequences. A terminal that doesn't know the last two ignores them.
const ALTERNATE_SCREEN = { on: '\u001b[?1049h', off: '\u001b[?1049l' };
const CURSOR = { hide: '\u001b[?25l', show: '\u001b[?25h' };
const HOME = '\u001b[H';
const CLEAR_TO_LINE_END = '\u001b[K';
const CLEAR_BELOW = '\u001b[J';
const UNNAMED_ROWS = 24; // For a terminal that doesn't tell its size.
const UPDATE = { begin: '\u001b[?2026h', end: '\u001b[?2026l' }; // The terminal shows all of it at once.

/**
 * Redraws text in a terminal, on its alternate screen. At the end the terminal shows again what it showed before. Each frame overwrites the
 * last one without clearing it first, so nothing flickers.
 */
export class LiveScreen {
  readonly #terminal: Terminal;
  #isOn = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** @param lines - printable, and no wider than the terminal. If there are too many, the last line says how many are left out */
  draw(lines: readonly string[]): void {
    const begin = this.#isOn ? '' : ALTERNATE_SCREEN.on + CURSOR.hide;
    this.#isOn = true;
    const shown = fitted(lines, this.#terminal.rows || UNNAMED_ROWS);
    const text = shown.map((line) => line + CLEAR_TO_LINE_END).join('\r\n');
    this.#terminal.write(begin + UPDATE.begin + HOME + text + CLEAR_BELOW + UPDATE.end);
  }

  /** Gives the terminal back as it was. */
  end(): void {
    if (this.#isOn) this.#terminal.write(CURSOR.show + ALTERNATE_SCREEN.off);
    this.#isOn = false;
  }
}

function fitted(lines: readonly string[], rows: number): readonly string[] {
  if (lines.length <= rows) return lines;
  const shown = lines.slice(0, rows - 1);
  return [...shown, `… ${lines.length - shown.length} more`];
}
