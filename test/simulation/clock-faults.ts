import { Random } from '../support/seeded-random.js';

/**
 * How many readings of a clock there are, on the average, before the process stands still after one. What a wrong clock gains in a
 * pause it keeps, and only a longer pause adds to it. So pauses are rare until others wait for a silent leader's lease to end.
 */
const READINGS_BETWEEN_PAUSES = { mostly: 40_000, inSilences: 100 };
const SHORTEST_MS = 5;
const LONGEST_MS = 1000;

/** In this share of the worlds the processes have clocks of two sources, and stand still now and then between two readings. */
const SHARE_OF_WORLDS = 0.3;
/** Chance for these faults, in a stream of its own: the other faults of a world are the same with them and without. */
const STREAM = 4;

/** What goes wrong with the clocks of a world's processes. */
export class ClockFaults {
  /** The steps of the uptime, in milliseconds. In whole seconds, a short suspension isn't noticed. */
  readonly stepMs: 10 | 1000;
  /** Whether anything may go wrong at the moment. */
  #isOn = true;
  /** How many leaders are silent at the moment. */
  #silences = 0;
  readonly #random: Random;
  readonly #onPause: () => void;

  /** The faults of the clocks in the world of that seed, if it has any. @param onPause - called for each pause */
  static of(seed: number, onPause: () => void): ClockFaults | undefined {
    const random = new Random(seed, STREAM);
    return random.chance(SHARE_OF_WORLDS) ? new ClockFaults(random, onPause) : undefined;
  }

  private constructor(random: Random, onPause: () => void) {
    this.#random = random;
    this.#onPause = onPause;
    this.stepMs = random.chance(0.7) ? 10 : 1000;
  }

  begin(): void {
    this.#isOn = true;
  }

  /** Ends all silences as well. */
  end(): void {
    this.#isOn = false;
    this.#silences = 0;
  }

  silenceBegins(): void {
    this.#silences++;
  }

  silenceEnds(): void {
    this.#silences--;
  }

  /** How long the process stands still after this reading; mostly 0. */
  pauseMs(): number {
    const readings = READINGS_BETWEEN_PAUSES[this.#silences > 0 ? 'inSilences' : 'mostly'];
    if (!this.#isOn || !this.#random.chance(1 / readings)) return 0;
    this.#onPause();
    return this.#random.spread(SHORTEST_MS, LONGEST_MS);
  }

  /** Whether the machine is suspended with a process that is to stand still. */
  suspends(): boolean {
    return this.stepMs === 10 && this.#random.chance(0.5);
  }
}
