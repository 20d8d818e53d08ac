import type { Term } from '../../election/term/term.js';
import type { Labels, MetricsSnapshot, Observed } from './measurements.js';

/** The part of a term that a span shows. */
export type MeasuredTerm = Pick<Term, 'number' | 'token'>;

export interface MeasuredHookCall {
  readonly attempt: number;
  readonly since: Date;
  readonly error: Error | undefined;
}

/** Hears of events at once that a later snapshot doesn't show. No method may throw. */
export interface TermListener {
  termBegan(labels: Labels, term: MeasuredTerm): void;
  /** @param isLoss - whether the candidate lost the term instead of releasing it */
  termEnded(term: MeasuredTerm, reason: string, isLoss: boolean): void;
  tookOver(labels: Labels, term: MeasuredTerm, since: Date): void;
  hookCalled(labels: Labels, call: MeasuredHookCall): void;
}

/** The part of a `Metrics` that its collectors use. */
export interface CollectorPort {
  readonly observed: Observed;
  /** Calls `tell` with each listener. */
  trace(tell: (listener: TermListener) => void): void;
  /** A source has stopped for good. */
  stopped(): void;
}

/** Measures one source. */
export abstract class Collector {
  /** Whether the source has stopped for good. */
  hasStopped = false;
  protected readonly port: CollectorPort;
  /** What ends the measuring. */
  protected readonly closing: (() => void)[] = [];

  constructor(port: CollectorPort) {
    this.port = port;
  }

  /** The metrics of this moment. Never rejects. @param gathers - whether to ask a cluster's workers for theirs, too */
  abstract collect(gathers: boolean): Promise<MetricsSnapshot>;

  /** Tells a listener that was added later of the term that the source leads now. Most sources lead none that is worth a span. */
  introduce(_: TermListener): void {
    return undefined;
  }

  /** Ends the measuring. */
  close(): void {
    for (const each of this.closing) each();
  }

  protected sourceStopped(): void {
    this.hasStopped = true;
    this.port.stopped();
  }
}

/** Moves `date` back by `ms`, and returns it. */
export function ago(date: Date, ms: number): Date {
  date.setTime(date.getTime() - ms);
  return date;
}
