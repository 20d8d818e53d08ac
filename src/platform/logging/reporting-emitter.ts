import { describe, type ListenerError } from '../../errors.js';
import { type EventNames, SafeEmitter } from '../safe-emitter.js';
import { type Logger, logError } from './logger.js';

/** @internal What the errors of an emitter need to be reported. */
export interface Reporting<Events> {
  readonly events: EventNames<Events>;
  readonly logger: Logger;
  /** The message of each log line, such as "something went wrong in the election". */
  readonly message: string;
}

/**
 * An emitter whose errors are emitted as `error`, and logged if that has no listener. Errors of its listeners are reported in the same way,
 * except those of `error` itself, which are only logged.
 */
export abstract class ReportingEmitter<
  Events extends Record<keyof Events, (...args: never[]) => void> & { error(error: Error): void },
> extends SafeEmitter<Events> {
  /** @internal A getter, since there may be very many emitters. */
  protected abstract get reporting(): Reporting<Events>;

  /** @internal */
  protected report(thrown: unknown): void {
    const error = thrown instanceof Error ? thrown : new Error(describe(thrown));
    const { reporting } = this;
    logError(reporting.logger, error, reporting.message, this);
    this.emit('error', ...([error] as unknown as Parameters<Events['error']>));
  }

  /** @internal */
  protected override get knownEvents(): EventNames<Events> {
    return this.reporting.events;
  }

  protected override reportListenerError(error: ListenerError): void {
    if (error.event === 'error') this.reporting.logger.error({ err: error }, 'a listener failed');
    else this.report(error);
  }
}
