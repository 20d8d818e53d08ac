/** Prints what happens, in order, and in the end whether it is what should happen. */

/** @typedef {{ event: string, id: string, atMs: number, term?: number, token?: string, reason?: string, attempt?: number, delayMs?: number, message?: string }} Report */
/** @typedef {{ id: string, number: number, token: bigint, from: number, to: number | undefined }} Leadership */

export class Timeline {
  #beganAt = this.now();
  /** @type {{ matches: (report: Report) => boolean, resolve: (report: Report) => void }[]} */
  #waiting = [];
  /** All terms: their leaders, beginnings and ends. @type {Leadership[]} */
  terms = [];

  /** Milliseconds of the machine's monotonic clock, which the replicas use too. */
  now() {
    return Number(process.hrtime.bigint() / 1000n) / 1000;
  }

  /** The replica that leads now. */
  get leader() {
    const last = this.terms.at(-1);
    return last?.to === undefined ? last?.id : undefined;
  }

  /** @param {string} text */
  say(text, atMs = this.now()) {
    console.log(`${((atMs - this.#beganAt) / 1000).toFixed(2).padStart(6)} s  ${text}`);
  }

  /** @param {Report} report */
  take(report) {
    const { event, id, atMs, term = 0, token = '0' } = report;
    switch (event) {
      case 'joined':
        this.say(`replica ${id} joins the election`, atMs);
        break;
      case 'elected':
        this.terms.push({ id, number: term, token: BigInt(token), from: atMs, to: undefined });
        this.say(`replica ${id} is ELECTED: term ${term}, token ${token}`, atMs);
        break;
      case 'demoted':
        this.#end(id, atMs);
        this.say(`replica ${id} is demoted from term ${term}: ${report.reason}`, atMs);
        break;
      case 'expired':
        this.say(`replica ${id}: its session has expired`, atMs);
        break;
      case 'cleanup':
        this.say(`replica ${id}: the clean-up hook runs (${report.reason})`, atMs);
        break;
      case 'cleaned':
        this.say(`replica ${id}: the clean-up hook has succeeded`, atMs);
        break;
      case 'restarting':
        this.say(`replica ${id} joins again with a new session`, atMs);
        break;
      default:
        this.say(`replica ${id}: ${event} ${report.message ?? ''}`, atMs);
    }
    const met = this.#waiting.filter(({ matches }) => matches(report));
    this.#waiting = this.#waiting.filter((waiter) => !met.includes(waiter));
    for (const { resolve } of met) resolve(report);
  }

  /**
   * @param {import('./fenced-sink.mjs').Entry} entry
   * @param {string | undefined} refused
   */
  tick(entry, refused) {
    const outcome = refused === undefined ? '' : `: REFUSED, ${refused}`;
    this.say(`  tick ${entry.sequence} on replica ${entry.by}, token ${entry.token}${outcome}`);
  }

  /**
   * @param {string} id
   * @param {string} how
   */
  exited(id, how) {
    this.#end(id, this.now());
    this.say(`replica ${id}: its process has ended (${how})`);
  }

  /** Resolves with the next report that matches. @param {(report: Report) => boolean} matches @returns {Promise<Report>} */
  next(matches) {
    return new Promise((resolve) => this.#waiting.push({ matches, resolve }));
  }

  /** Resolves when `condition` holds after some report. @param {() => boolean} condition */
  async until(condition) {
    while (!condition()) await this.next(() => true);
  }

  /**
   * Prints the results, and returns whether all of them are as expected.
   *
   * @param {import('./fenced-sink.mjs').FencedLog} log
   * @param {Record<string, boolean>} more
   */
  summarize(log, more) {
    const ticks = log.entries.length;
    const runs = new Map();
    for (const { sequence } of log.attempts) runs.set(sequence, (runs.get(sequence) ?? 0) + 1);
    const byTime = [...this.terms].sort((a, b) => a.from - b.from);
    const findings = {
      [`each of the ${ticks} ticks ran exactly once`]:
        ticks > 0 && runs.size === ticks && [...runs.values()].every((count) => count === 1),
      [`never two leaders, in ${this.terms.length} terms`]: byTime.every(
        (term, index) => index === 0 || (byTime[index - 1]?.to ?? Infinity) <= term.from,
      ),
      'terms count up by one and tokens rise': byTime.every(
        ({ number, token }, index) =>
          index === 0 ||
          (number === (byTime[index - 1]?.number ?? 0) + 1 && token > (byTime[index - 1]?.token ?? 0n)),
      ),
      ...more,
    };
    console.log('\nSummary');
    for (const [finding, holds] of Object.entries(findings))
      console.log(`  ${holds ? 'yes' : 'NO '}  ${finding}`);
    return Object.values(findings).every(Boolean);
  }

  /**
   * @param {string} id
   * @param {number} atMs
   */
  #end(id, atMs) {
    for (const term of this.terms) if (term.id === id) term.to ??= atMs;
  }
}
