import { type Environment, systemEnvironment } from '../../../src/platform/injected-environment.js';
import { connectStringOf, type Endpoint } from '../servers/ensemble.js';

/** An environment for one session that knows to which server that session is connected. */
export class ConnectionTracker implements Environment {
  readonly clock: Environment['clock'];
  readonly #base: Environment;
  #port: number | undefined;

  constructor(base: Environment = systemEnvironment) {
    this.#base = base;
    this.clock = base.clock;
  }

  random = (): number => this.#base.random();
  uuid = (): string => this.#base.uuid();
  resolve: Environment['resolve'] = (host) => this.#base.resolve(host);
  openSocket: Environment['openSocket'] = (server, reader) => {
    this.#port = server.port;
    return this.#base.openSocket(server, reader);
  };

  /** Which of these the session's newest socket went to: while it is connected, the one that serves it. */
  serverAmong<T extends Endpoint>(endpoints: readonly T[]): T {
    const endpoint = endpoints.find(({ port }) => port === this.#port);
    if (endpoint === undefined)
      throw new Error(`the session is connected to none of ${connectStringOf(endpoints)}`);
    return endpoint;
  }
}
