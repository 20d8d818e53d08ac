import { isIP } from 'node:net';
import type { AuthenticationError } from '../../errors.js';
import type { Server } from '../../platform/injected-environment.js';
import { shuffled } from './server-list.js';
import type { Endpoint } from './transport.js';

/** A name's addresses are those of now for so long, in milliseconds. A silent address takes longer, so the name is looked up again after it. */
const FRESH_MS = 200;

/** What a round knows of one server. */
interface Visit {
  /** In the order to try them. */
  readonly addresses: readonly string[];
  readonly foundAtMs: number;
  readonly tried: Set<string>;
}

/**
 * One round of tries: each address of each server once, by what the names mean at the time. It goes on while servers accept the session
 * and don't serve it, whatever that takes.
 */
export class Round {
  /** How many rounds in a row were in vain before this one. */
  readonly number: number;
  /** The first refusal of the credentials. */
  refusal: AuthenticationError | undefined;
  readonly #before: Endpoint | undefined;
  readonly #visits = new Map<Server, Visit>();
  readonly #done = new Set<Server>();
  #isInVain = false;

  /** @param before - the last try of the rounds before: its address comes last */
  constructor(number: number, before?: Endpoint) {
    this.number = number;
    this.#before = before;
  }

  /** The server whose turn it is; `undefined` if all of them were tried. */
  next(servers: readonly Server[]): Server | undefined {
    return servers.find((server) => !this.#done.has(server));
  }

  isOver(servers: readonly Server[]): boolean {
    return this.#isInVain || (this.#done.size > 0 && this.next(servers) === undefined);
  }

  /** No server can be tried in this round. */
  giveUp(): void {
    this.#isInVain = true;
  }

  /** All addresses of the server were tried, or none can be found. */
  leave(server: Server): void {
    this.#done.add(server);
  }

  leaveIfTried(server: Server): void {
    if (this.#untried(server) === undefined) this.leave(server);
  }

  needsAddresses(server: Server, nowMs: number): boolean {
    return nowMs - (this.#visits.get(server)?.foundAtMs ?? Number.NEGATIVE_INFINITY) >= FRESH_MS;
  }

  /** The server's name was looked up. */
  found(server: Server, addresses: readonly string[], foundAtMs: number, random: () => number): void {
    const last = this.#before?.server === server ? this.#before.address : undefined;
    const tried = this.#visits.get(server)?.tried ?? new Set();
    this.#visits.set(server, { addresses: inTurn(addresses, last, random), foundAtMs, tried });
  }

  hasFound(server: Server): boolean {
    return this.#visits.has(server);
  }

  /** An address that wasn't tried in this round; `undefined` if there is none. It counts as tried now. */
  takeAddress(server: Server): string | undefined {
    const address = this.#untried(server);
    if (address !== undefined) this.#visits.get(server)?.tried.add(address);
    return address;
  }

  #untried(server: Server): string | undefined {
    const visit = this.#visits.get(server);
    return visit?.addresses.find((each) => !visit.tried.has(each));
  }
}

/**
 * The addresses of one server in the order to try them. They are shuffled. Addresses of the family that the system lists first
 * come first, since a machine may have no route for the other family. The address that was tried last comes last.
 */
export function inTurn(found: readonly string[], last: string | undefined, random: () => number): string[] {
  const rank = (address: string) => (address === last ? 2 : Number(isIP(address) !== isIP(found[0] ?? '')));
  return shuffled([...new Set(found)], random).sort((a, b) => rank(a) - rank(b));
}
