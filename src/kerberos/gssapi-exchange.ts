import { AuthenticationError } from '../errors.js';
import type { SaslExchange } from '../session/sasl/sasl-mechanism.js';
import type { TaskQueue } from './task-queue.js';

/** As much of the npm package `kerberos` as Conclave uses. */
export interface KerberosModule {
  /**
   * Makes the client's half of an exchange.
   *
   * @param service - the service's name and host, as `zookeeper@zk1.example.com`
   */
  initializeClient(service: string): Promise<KerberosClient>;
}

/** A client of the package `kerberos`. All tokens are in Base64. */
export interface KerberosClient {
  /** Whether client and server have proven themselves. */
  readonly contextComplete: boolean;
  /** Takes the server's token, at first `''`, and gives the client's. */
  step(challenge: string): Promise<string>;
  /** The message within the server's token. */
  unwrap(challenge: string): Promise<string>;
  /** A token with a message. Before version 7 of the package, the options must be given. */
  wrap(challenge: string, options: object): Promise<string>;
}

/** What {@link SaslExchange.step} gets. */
type Token = Buffer | null | undefined;

const NO_TOKEN = Buffer.alloc(0);

/** How an exchange reaches the server that it is for. */
export interface GssapiParts {
  readonly module: KerberosModule;
  readonly service: string;
  readonly host: string;
  /** Shared by all exchanges of the process. */
  readonly turns: TaskQueue;
}

/**
 * The client's half of SASL's GSSAPI with Kerberos: the ticket, the server's proof, no token, and then the choice of a security layer.
 *
 * Only the first step asks the KDC. It blocks a thread of libuv until the KDC answers, so it waits for its turn: otherwise a KDC that
 * doesn't answer would soon block all four of these threads, and with them files and DNS. The other steps compute only.
 */
export function gssapiExchange(parts: GssapiParts): SaslExchange {
  const steps = stepsOf(parts);
  return {
    advice:
      `it does not take the Kerberos ticket for ${parts.service}/${parts.host}: is that its principal, has its keytab the newest key of that ` +
      'principal, and has it Krb5LoginModule and authProvider.sasl?',
    async step(token) {
      const { done, value } = await steps.next(token);
      if (done) throw new AuthenticationError('the SASL exchange is over');
      return value;
    },
  };
}

/**
 * Yields the client's tokens, and gets the server's.
 * @throws AuthenticationError if the server proves nothing, or demands a security layer; Error if Kerberos gives no ticket for the server
 */
async function* stepsOf(parts: GssapiParts): AsyncGenerator<Buffer | undefined, void, Token> {
  const { client, ticket } = await parts.turns.run(() => begin(parts));
  const proof = yield ticket;
  if (!proof) throw new AuthenticationError(NO_PROOF);
  await ofServer('proof', () => client.step(proof.toString('base64')));
  if (!client.contextComplete) throw new AuthenticationError(INCOMPLETE);
  const offered = yield NO_TOKEN;
  if (!offered) throw new AuthenticationError(NO_OFFER);
  const offer = await ofServer('offer', () => client.unwrap(offered.toString('base64')));
  const choice = answerToOffer(decode(offer));
  const end = yield decode(await client.wrap(choice.toString('base64'), {}));
  // A server that has refused the choice and sets allowSaslFailedClients answers the same. But it has taken the ticket by then, and each
  // server takes this choice if it has offered it.
  if (end) throw new AuthenticationError('a server has sent a token after the end of GSSAPI');
  yield undefined;
}

async function begin({ module, service, host }: GssapiParts) {
  try {
    const client = await module.initializeClient(`${service}@${host}`);
    return { client, ticket: decode(await client.step('')) };
  } catch (error) {
    throw new Error(`Kerberos gives no ticket for ${service}/${host}: ${reasonOf(error)}`, { cause: error });
  }
}

const NO_PROOF =
  'a server has answered nothing to a ticket of Kerberos: has its JAAS configuration a section Server with Krb5LoginModule? Or it refuses the ticket, and sets allowSaslFailedClients';
const INCOMPLETE = 'a server has not proven by Kerberos that it is the one that the ticket is for';
const NO_OFFER =
  'a server has ended GSSAPI before it has offered a security layer: it lets clients in whom it refuses, if it sets allowSaslFailedClients';

/** The result of a step that reads the server's token. It doesn't ask the KDC, so it fails by this token only. */
async function ofServer<T>(what: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    const message = `a server's ${what} by Kerberos can't be used: ${reasonOf(error)}`;
    throw new AuthenticationError(message, { cause: error });
  }
}

function decode(token: string): Buffer {
  return Buffer.from(token, 'base64');
}

/** What GSSAPI says, without the words before it that say nothing. */
function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.replace(/^Unspecified GSS failure\.\s+Minor code may provide more information:\s*/, '');
}

/**
 * The end of GSSAPI's exchange (RFC 4752): the server offers security layers, and the client chooses one. Each is a bit of the first byte.
 * The other three bytes are the longest message of such a layer.
 */

const LENGTH = 4;
const NO_LAYER = 0x01;
/** No security layer, so no longest message, and no authorization id: the server takes that of the ticket. */
const CHOICE = Buffer.from([NO_LAYER, 0, 0, 0]);

/** @throws AuthenticationError if the server doesn't offer to go on without a security layer. Any bytes have one of the two outcomes */
export function answerToOffer(offer: Uint8Array): Buffer {
  if (offer.length !== LENGTH)
    throw new AuthenticationError(
      `a server offers security layers of SASL in ${offer.length} bytes: expected ${LENGTH}`,
    );
  if (((offer[0] as number) & NO_LAYER) === 0)
    throw new AuthenticationError(
      'a server demands a security layer of SASL (qop auth-int or auth-conf), which Conclave has not: allow the qop auth there, and use TLS',
    );
  return CHOICE;
}
