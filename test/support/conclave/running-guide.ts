import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { freePort } from '../../../tools/ports.mjs';
import { onTestFinished } from '../vitest/test-end.js';
import { until } from '../waiting.mjs';
import { connectString } from './sessions.js';

/** The folder of the guides' programs. */
export const GUIDES = join(import.meta.dirname, '../../../examples/guides');

/** The options for a program of the guides. */
export interface RunningGuideOptions {
  /** Its election. */
  readonly path: string;
  readonly env?: Record<string, string>;
  /** The command that starts Node, with its arguments. The program's file follows. @default Node itself */
  readonly launcher?: readonly string[];
}

/** A program of the guides that is running, on a port of its own. It ends with the test. */
export class RunningGuide {
  readonly process: ChildProcess;
  readonly url: string;
  /** Its output so far. */
  output = '';
  readonly #exited: Promise<unknown[]>;

  private constructor(file: string, port: number, { path, env = {}, launcher = [] }: RunningGuideOptions) {
    this.url = `http://127.0.0.1:${port}`;
    const [command = process.execPath, ...words] = [...launcher, process.execPath, file];
    const own = { ZOOKEEPER: connectString(), ELECTION: path, PORT: String(port), NODE_ENV: 'production' };
    this.process = spawn(command, words, {
      env: { ...process.env, ...own, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.process.stdout, this.process.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.output += text;
      });
    this.#exited = once(this.process, 'close');
    onTestFinished(async () => {
      this.process.kill('SIGKILL');
      await this.#exited;
    });
  }

  /** @param file - below examples/guides, or an absolute path */
  static async start(file: string, options: RunningGuideOptions): Promise<RunningGuide> {
    return new RunningGuide(file.startsWith('/') ? file : join(GUIDES, file), await freePort(), options);
  }

  get pid(): number {
    return this.process.pid as number;
  }

  /** Resolves when its output matches, with the match. */
  async printed(pattern: RegExp): Promise<RegExpExecArray> {
    const hasEnded = () => this.process.exitCode !== null || this.process.signalCode !== null;
    await until(() => pattern.test(this.output) || hasEnded(), `the output ${pattern}`);
    const match = pattern.exec(this.output);
    if (match === null) throw new Error(`it ended without the output ${pattern}:\n${this.output}`);
    return match;
  }

  /** The status of a request; 0 while it doesn't listen. */
  async status(path: string, init: RequestInit = {}): Promise<number> {
    try {
      return (await fetch(this.url + path, { redirect: 'manual', ...init })).status;
    } catch {
      return 0;
    }
  }

  /** Resolves with its exit code or the signal that ended it. */
  async exit(): Promise<number | string> {
    const [code, signal] = await this.#exited;
    return (code ?? signal) as number | string;
  }

  /** Stops it as a service manager does, and resolves as {@link exit} does. */
  stop(): Promise<number | string> {
    this.process.kill('SIGTERM');
    return this.exit();
  }
}
