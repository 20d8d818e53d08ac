import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { open, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// For the logs of a run of hours: a log of 100,000 transactions takes some 20 MB, and ZooKeeper removes old ones.
const SIZE = '96m';

/** A disk of its own for a server's data, so small that it can be filled. */
export class SmallDisk {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
    process.once('exit', () => this.close());
  }

  /** @throws the error of `mount`, if the machine doesn't allow it; nothing is left behind then */
  static mount(): SmallDisk {
    const folder = mkdtempSync(join(tmpdir(), 'conclave-disk-'));
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${SIZE}`, 'conclave-chaos', folder], {
        stdio: ['ignore', 'ignore', 'pipe'],
      });
    } catch (error) {
      rmSync(folder, { recursive: true });
      throw error;
    }
    return new SmallDisk(folder);
  }

  /** Where a server may write: a folder that isn't there yet. */
  get dataFolder(): string {
    return join(this.folder, 'data');
  }

  get #ballast(): string {
    return join(this.folder, 'ballast');
  }

  /** Leaves no room for a single byte. */
  async fill(): Promise<void> {
    const file = await open(this.#ballast, 'w');
    try {
      const { bavail, bsize } = await statfs(this.folder);
      const block = Buffer.alloc(bsize);
      // More than there is room for, in case something is removed meanwhile.
      for (let left = bavail + 1; left > 0; left--) await file.write(block);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    } finally {
      await file.close();
    }
  }

  async empty(): Promise<void> {
    await rm(this.#ballast, { force: true });
  }

  close(): void {
    try {
      execFileSync('umount', ['-l', this.folder], { stdio: 'ignore' });
    } catch {
      return; // It was closed already.
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}
