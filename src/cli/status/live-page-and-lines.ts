import type { ElectionView, OverviewState } from '../../overview/model/views.js';
import type { Clock, Timer } from '../../platform/time/clock.js';
import { byPath } from '../../platform/zookeeper-paths.js';
import { printable, printError } from '../process/output.js';
import { LiveScreen } from '../process/terminal.js';
import { electionJson, electionLine } from './election-text.js';
import { cutToWidth } from './text-table.js';

/** Shows the elections that are watched, whenever they may have changed. */
export interface Presentation {
  show(state: OverviewState): void;
  /** Shows an error after which the presentation goes on. */
  report(message: string): void;
  end(): void;
}

const REDRAW_MS = 1000; // The ages on the page grow even if no election changes.
const UNNAMED_SIZE = { columns: 80, rows: 24 }; // For a terminal that doesn't tell its size.

/** Redraws a page in the terminal. */
export class LivePage implements Presentation {
  readonly #clock: Clock;
  readonly #page: (state: OverviewState, nowMs: number, width: number) => string[];
  readonly #stdout = process.stdout;
  readonly #screen: LiveScreen;
  #state: OverviewState | undefined;
  #timer: Timer | undefined;
  /** The last error, shown on the page: a line on standard error would stand in the middle of it. */
  #problem: string | undefined;

  /** @param page - the lines, of which each is cut to the terminal's width */
  constructor(clock: Clock, page: (state: OverviewState, nowMs: number, width: number) => string[]) {
    this.#clock = clock;
    this.#page = page;
    const stdout = this.#stdout;
    this.#screen = new LiveScreen({
      get rows() {
        return stdout.rows || UNNAMED_SIZE.rows;
      },
      write: (text) => stdout.write(text),
    });
    stdout.on('resize', this.#draw);
    process.on('exit', this.#leave); // Gives the terminal back at any end of the process.
  }

  show(state: OverviewState): void {
    this.#state = state;
    this.#draw();
  }

  report(message: string): void {
    this.#problem = printable(message);
    this.#draw();
  }

  readonly #draw = () => {
    if (this.#state === undefined) return;
    this.#timer?.clear();
    this.#timer = this.#clock.after(REDRAW_MS, this.#draw);
    const width = this.#stdout.columns || UNNAMED_SIZE.columns;
    const nowMs = this.#clock.date().getTime();
    const problem = this.#problem === undefined ? [] : [this.#problem];
    const lines = [...this.#page(this.#state, nowMs, width), ...notesOf(this.#state), ...problem];
    this.#screen.draw(lines.map((line) => cutToWidth(line, width)));
  };

  readonly #leave = () => this.#screen.end();

  end(): void {
    this.#timer?.clear();
    this.#stdout.off('resize', this.#draw);
    process.off('exit', this.#leave);
    this.#leave();
  }
}

/** The notes below a page: what the overview doesn't show, and whether the page may be old. */
export function notesOf({ connected, limits = [] }: OverviewState): string[] {
  const notes = limits.map(printable);
  return connected ? notes : [...notes, 'not connected to a server: this page may be out of date'];
}

/** Prints a line for each election now, and one whenever that line has changed. */
export class ChangeLines implements Presentation {
  readonly #show: (line: string) => void;
  readonly #isJson: boolean;
  #lines = new Map<string, string>();

  constructor(print: (line: string) => void, isJson: boolean) {
    this.#show = print;
    this.#isJson = isJson;
  }

  show({ elections }: OverviewState): void {
    const before = this.#lines;
    const sorted = [...elections].sort(byPath);
    this.#lines = new Map(sorted.map((view) => [view.path, electionLine(view)]));
    for (const path of before.keys()) if (!this.#lines.has(path)) this.#show(this.#removed(path));
    for (const view of sorted) {
      const line = this.#lines.get(view.path) as string;
      if (line !== before.get(view.path)) this.#show(this.#isJson ? jsonLine(view) : line);
    }
  }

  report(message: string): void {
    printError(message);
  }

  #removed(path: string): string {
    return this.#isJson
      ? JSON.stringify({ election: path, state: 'removed' })
      : `${printable(path)}  removed`;
  }

  end(): void {
    // The printed lines stay.
  }
}

function jsonLine(view: ElectionView): string {
  return JSON.stringify(electionJson(view));
}
