import type { FamilyName } from './families.js';
import type { Labels, Snapshot } from './series.js';

/** A term, as a span shows it. */
export interface MeasuredTerm {
  readonly number: number;
  readonly token: bigint;
}

/** What is heard of sources as it happens, for what can't be asked for later. Nothing of it may throw. */
export interface MeasurementListener {
  /** A value of a histogram, in seconds. */
  observed(name: FamilyName, labels: Labels, value: number): void;
  termBegan(labels: Labels, term: MeasuredTerm): void;
  /** @param isLoss - whether the term was lost, and not given back */
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
  /** What is to be said at this moment. Never rejects. @param gathers - whether the workers of a cluster are asked, too */
  collect(gathers: boolean): Promise<Snapshot>;
  /** The terms that the source leads, for a listener that has come later. */
  terms(): readonly { readonly labels: Labels; readonly term: MeasuredTerm }[];
  /** Measures nothing any more. */
  close(): void;
}

/** What a collector needs of the metrics that it belongs to. */
export interface CollectorPort extends MeasurementListener {
  /** The source has stopped for good. */
  stopped(): void;
}

/** `date` as it was some time ago. */
export function ago(date: Date, ms: number): Date {
  date.setTime(date.getTime() - ms);
  return date;
}
