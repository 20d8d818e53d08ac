import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const PROGRAMS = join(import.meta.dirname, '../foreign-clients');

interface Question {
  readonly contender: string;
  readonly resolve: (answer: string[]) => void;
  readonly reject: (error: Error) => void;
}

/** Another client's contenders, in a process of their own. `test/interop/foreign-clients/README.md` has the protocol. */
export class ForeignClient {
  readonly #process: ChildProcess;
  /** The questions without an answer yet, in the order of asking. */
  #questions: Question[] = [];
  #complaints = '';

  private constructor(process: ChildProcess) {
    this.#process = process;
    process.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#complaints = (this.#complaints + text).slice(-10_000);
    });
    createInterface({ input: process.stdout as NodeJS.ReadableStream }).on('line', (line) =>
      this.#hear(line),
    );
    process.once('error', (error) => this.#end(error.message));
    process.once('exit', (code, signal) => this.#end(String(code ?? signal)));
  }

  /** Starts a program and waits until it has its session. */
  static async start(
    [command = '', ...args]: readonly string[],
    program: string,
    connect: string,
    sessionTimeoutMs: number,
  ): Promise<ForeignClient> {
    const client = new ForeignClient(
      spawn(command, [...args, join(PROGRAMS, program), connect, String(sessionTimeoutMs)], {
        stdio: ['pipe', 'pipe', 'pipe'],
      }),
    );
    await client.#answer('ready');
    return client;
  }

  /**
   * Sends a contender a command, and resolves with the words of the answer.
   *
   * @throws Error if the contender fails or the process ends
   */
  async ask(command: string, contender: string, ...args: readonly (string | number)[]): Promise<string[]> {
    this.#process.stdin?.write(`${[command, contender, ...args].join(' ')}\n`);
    return await this.#answer(contender);
  }

  /** Kills the process. Its session stays until it expires. */
  async kill(): Promise<void> {
    await this.#ended(() => this.#process.kill('SIGKILL'));
  }

  /** Lets the process close its session and end. */
  async quit(): Promise<void> {
    await this.#ended(() => this.#process.stdin?.end('quit\n'));
  }

  async #ended(end: () => unknown): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const exited = once(this.#process, 'exit');
    end();
    await exited;
  }

  #answer(contender: string): Promise<string[]> {
    return new Promise((resolve, reject) => this.#questions.push({ contender, resolve, reject }));
  }

  #hear(line: string): void {
    const words = line.split(' ');
    const [answer, contender = answer] = words;
    const question = this.#questions.find((each) => each.contender === contender);
    if (question === undefined) return;
    this.#questions = this.#questions.filter((each) => each !== question);
    if (answer === 'failed') question.reject(new Error(line));
    else question.resolve(words);
  }

  #end(why: string): void {
    for (const { reject } of this.#questions)
      reject(new Error(`the process ended (${why})\n${this.#complaints}`));
    this.#questions = [];
  }
}
