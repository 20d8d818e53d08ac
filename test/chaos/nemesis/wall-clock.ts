import { renameSync, writeFileSync } from 'node:fs';
import { findFaketime } from '../../../tools/faketime/library.mjs';

/** The wall clock of one process, which can be set while it runs. The other clocks of that process, and those of other processes, don't change. */
export class WallClock {
  readonly #file: string;
  readonly #library: string;

  /** @throws Error if libfaketime isn't installed and can't be */
  constructor(file: string) {
    this.#library = findFaketime();
    this.#file = file;
    this.jump(0);
  }

  /** The environment variables to start the process with. */
  get env(): Record<string, string> {
    return {
      LD_PRELOAD: this.#library,
      FAKETIME_TIMESTAMP_FILE: this.#file,
      FAKETIME_NO_CACHE: '1',
      // Leases, timers and histories go by the monotonic clocks: those stay true.
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      // Without this, Java's waits on a condition are too short.
      FAKETIME_FORCE_MONOTONIC_FIX: '0',
    };
  }

  /** Sets it this far from the true time. */
  jump(seconds: number): void {
    // The file is read each time the clock is asked, so it must be complete at any moment.
    writeFileSync(`${this.#file}.new`, `${seconds < 0 ? '' : '+'}${seconds}\n`);
    renameSync(`${this.#file}.new`, this.#file);
  }
}
