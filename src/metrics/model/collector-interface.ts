import type { Labels, MetricsSnapshot } from './measurements.js';
import type { FamilyName } from './metric-families.js';

/** The part of a term that a span shows. */
export interface MeasuredTerm {
  readonly number: number;
  readonly token: bigint;
}

/** Hears of events at once that a later snapshot doesn't show. No method may throw. */
export interface MeasurementListener {
  /** A value of a histogram, in seconds. */
  observed(name: FamilyName, labels: Labels, value: number): void;
  termBegan(labels: Labels, term: MeasuredTerm): void;
  /** @param isLoss - whether the candidate lost the term instead of releasing it */
  termEnded(term: MeasuredTerm, reason: string, isLoss: boolean): void;
  tookOver(labels: Labels, term: MeasuredTerm, since: Date): void;
  hookCalled(labels: Labels, call: MeasuredHookCall): void;
}

export interface MeasuredHookCall {
  readonly attempt: number;
  readonly since: Date;
  readonly error: Error | undefined;
}

/** Measures one source. */
export interface Collector {
  /** Whether the source has stopped for good. */
  readonly hasStopped: boolean;
  /** The metrics of this moment. Never rejects. @param gathers - whether to ask a cluster's workers for theirs, too */
  collect(gathers: boolean): Promise<MetricsSnapshot>;
  /** The terms that the source leads now, for a listener that was added later. */
  terms(): readonly { readonly labels: Labels; readonly term: MeasuredTerm }[];
  /** Ends the measuring. */
  close(): void;
}

/** The part of a `Metrics` that its collectors use. */
export interface CollectorPort extends MeasurementListener {
  /** The source has stopped for good. */
  stopped(): void;
}

/** Moves `date` back by `ms`, and returns it. */
export function ago(date: Date, ms: number): Date {
  date.setTime(date.getTime() - ms);
  return date;
}
