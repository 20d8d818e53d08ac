import type { EventEmitter } from 'node:events';
import type { OverviewState } from '../../overview/model/view-types.js';
import { systemEnvironment } from '../../platform/injected-environment.js';
import { printable } from '../../platform/printable.js';
import type { Clock, Timer } from '../../platform/time/clock.js';
import { LiveScreen, type Terminal } from '../process/live-screen.js';
import { printError } from '../process/output.js';
import { itemJson, type ShownItem } from './items-as-json-and-text.js';
import { cutToWidth } from './text-table.js';

/** What is watched, at one moment. */
export interface ShownOverview extends Pick<OverviewState, 'connected' | 'limits'> {
  readonly items: readonly ShownItem[];
}

/** Shows what is watched, whenever it may have changed. */
export interface Presentation {
  show(shown: ShownOverview): void;
  /** Shows an error after which the presentation goes on. */
  report(message: string): void;
  /** Gives the terminal back. Printed lines stay. */
  end?(): void;
}

const REDRAW_MS = 1000; // The ages on the page grow even if nothing else changes.
const PROBLEM_SHOWN_MS = 10_000; // An error that lasts is reported again.
export const UNNAMED_COLUMNS = 80; // For a terminal that doesn't tell its size.

/** A terminal that says how wide it is, and when that changes. */
type PageTerminal = Terminal & { readonly columns?: number | undefined } & Pick<EventEmitter, 'on' | 'off'>;

/** Redraws a page in the terminal. */
export class LivePage implements Presentation {
  readonly #page: (items: readonly ShownItem[], nowMs: number, width: number) => string[];
  readonly #stdout: PageTerminal;
  readonly #clock: Clock;
  readonly #screen: LiveScreen;
  #shown: ShownOverview | undefined;
  #timer: Timer | undefined;
  /** The last error, shown on the page for a while: a line on standard error would stand in the middle of it. */
  #problem: { readonly message: string; readonly untilMs: number } | undefined;

  /** @param page - the lines, of which each is cut to the terminal's width */
  constructor(
    page: (items: readonly ShownItem[], nowMs: number, width: number) => string[],
    stdout: PageTerminal = process.stdout,
    clock: Clock = systemEnvironment.clock,
  ) {
    this.#page = page;
    this.#stdout = stdout;
    this.#clock = clock;
    this.#screen = new LiveScreen(stdout);
    this.#stdout.on('resize', this.#draw);
    process.on('exit', this.#leave); // Gives the terminal back at any end of the process.
  }

  show(shown: ShownOverview): void {
    this.#shown = shown;
    this.#draw();
  }

  report(message: string): void {
    this.#problem = { message, untilMs: this.#clock.now() + PROBLEM_SHOWN_MS };
    this.#draw();
  }

  readonly #draw = () => {
    if (this.#shown === undefined) return;
    this.#timer?.clear();
    this.#timer = this.#clock.after(REDRAW_MS, this.#draw);
    const width = this.#stdout.columns || UNNAMED_COLUMNS;
    const nowMs = this.#clock.date().getTime();
    if (this.#problem !== undefined && this.#clock.now() >= this.#problem.untilMs) this.#problem = undefined;
    const problem = this.#problem === undefined ? [] : [this.#problem.message];
    const lines = [...this.#page(this.#shown.items, nowMs, width), ...notesOf(this.#shown), ...problem];
    this.#screen.draw(lines.map((line) => cutToWidth(printable(line), width)));
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
export function notesOf({ connected, limits = [] }: ShownOverview): string[] {
  return connected ? [...limits] : [...limits, 'not connected to a server: this page may be out of date'];
}

/** Prints a line for each path now, and one whenever that line has changed. */
export class ChangeLines implements Presentation {
  readonly #print: (line: string) => void;
  readonly #isJson: boolean;
  #items = new Map<string, ShownItem>();
  #isConnected = true;

  constructor(print: (line: string) => void, isJson: boolean) {
    this.#print = print;
    this.#isJson = isJson;
  }

  show({ items, connected }: ShownOverview): void {
    if (!connected) {
      // A program that reads the lines must not take the last leader for the present one.
      if (this.#isConnected) this.#print(this.#isJson ? '{"connected":false}' : 'not connected to a server');
      this.#isConnected = false;
      this.#items.clear();
      return;
    }
    this.#isConnected = true;
    const before = this.#items;
    this.#items = new Map(items.map((item) => [item.path, item]));
    const removed = [...before.values()].filter(({ path }) => !this.#items.has(path)).map(removedItem);
    for (const item of [...removed, ...items])
      if (item.line !== before.get(item.path)?.line)
        this.#print(this.#isJson ? JSON.stringify(itemJson(item)) : item.line);
  }

  report(message: string): void {
    printError(message);
  }
}

function removedItem(item: ShownItem): ShownItem {
  return { ...item, line: `${item.path}  removed`, facts: { state: 'removed' } };
}
