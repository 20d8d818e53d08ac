import type { MeasuredHookCall, MeasuredTerm, MeasurementListener } from '../model/collector.js';
import type { Labels } from '../model/series.js';

/** The part of OpenTelemetry's `Tracer` that Conclave uses. */
export interface Tracer {
  startSpan(name: string, options?: SpanOptions): Span;
}

/** The part of OpenTelemetry's `SpanOptions` that Conclave uses. */
export interface SpanOptions {
  root?: boolean;
  startTime?: Date;
  attributes?: Record<string, string | number>;
}

/** The part of OpenTelemetry's `Span` that Conclave uses. */
export interface Span {
  setAttribute(key: string, value: string): unknown;
  setStatus(status: { code: number; message?: string }): unknown;
  recordException(error: Error): unknown;
  end(): void;
}

const ERROR = 2; // SpanStatusCode.ERROR.

/**
 * A span for each term, each call of a clean-up hook and each takeover. Each span is the root of a trace. Other processes cause
 * these events, so they don't belong to the work that this process happens to do at that moment.
 */
export class Spans implements Omit<MeasurementListener, 'observed'> {
  readonly #tracer: Tracer;
  readonly #terms = new Map<MeasuredTerm, Span>();

  constructor(tracer: Tracer) {
    this.#tracer = tracer;
  }

  termBegan(labels: Labels, term: MeasuredTerm): void {
    const attributes = { ...attributesOf(labels), ...describe(term) };
    this.#terms.set(term, this.#tracer.startSpan('conclave.term', { root: true, attributes }));
  }

  termEnded(term: MeasuredTerm, reason: string, isLoss: boolean): void {
    const span = this.#terms.get(term);
    this.#terms.delete(term);
    span?.setAttribute('conclave.reason', reason);
    if (isLoss) span?.setStatus({ code: ERROR, message: `the term was lost: ${reason}` });
    span?.end();
  }

  tookOver(labels: Labels, term: MeasuredTerm, since: Date): void {
    const attributes = { ...attributesOf(labels), ...describe(term) };
    this.#tracer.startSpan('conclave.takeover', { root: true, startTime: since, attributes }).end();
  }

  hookCalled(labels: Labels, { attempt, since, error }: MeasuredHookCall): void {
    const attributes = { ...attributesOf(labels), 'conclave.attempt': attempt };
    const span = this.#tracer.startSpan('conclave.hook', { root: true, startTime: since, attributes });
    if (error !== undefined) {
      span.recordException(error);
      span.setStatus({ code: ERROR, message: error.message });
    }
    span.end();
  }

  /** Ends the spans of all current terms, because the ends of these terms will no longer be reported. */
  close(): void {
    for (const span of this.#terms.values()) span.end();
    this.#terms.clear();
  }
}

function attributesOf(labels: Labels): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).map(([name, value]) => [`conclave.${name}`, value]));
}

function describe({ number, token }: MeasuredTerm): Record<string, string | number> {
  return { 'conclave.term': number, 'conclave.token': String(token) };
}
