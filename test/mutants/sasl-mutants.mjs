/** Wrong ways in which a connection authenticates. */

/** @import { Mutant } from './mutants.mjs' */

const [FIRST, GOES_ON] = ['integration/hostile-server.test.ts', 'integration/observer.test.ts'];
const ORDER =
  'a server that is not what it should be > that demands credentials gets them first on each connection, before a ping asks what it has seen, and before the goodbye';
const GSSAPI = 'kerberos/gssapi-exchange.ts';
const KERBEROS = 'unit/kerberos/kerberos.test.ts';
const AUTHENTICATED = 'const zxid = await this.#authenticate(connection);';

/** @type {readonly Mutant[]} */
export const SASL_MUTANTS = [
  {
    name: 'no-rspauth-check',
    what: 'the proof of the server is not checked',
    danger:
      'anyone who answers in place of a server is believed, and a server that lets in any password, too',
    edits: [
      {
        file: 'session/sasl/digest-md5-exchange.ts',
        from: '        checkProof(token, state.rspauth);\n',
        to: '',
      },
    ],
    file: 'unit/session/sasl/digest-md5-exchange.test.ts',
    test: 'an exchange of DIGEST-MD5 > is refused at its end for a wrong proof',
  },
  {
    name: 'serves-before-it-authenticates',
    what: 'a connection serves the session while it still authenticates',
    danger:
      'the first operations are refused, and the connection ends; or they are carried out without the identity',
    edits: [
      {
        file: 'session/server-search.ts',
        from: AUTHENTICATED,
        to: 'const zxid = this.#identity.lastZxid as bigint | undefined; void this.#authenticate(connection);',
      },
    ],
    file: FIRST,
    test: ORDER,
  },
  {
    name: 'goodbye-before-it-authenticates',
    what: 'a session that was closed without a connection is closed over one that has not authenticated',
    danger: 'servers that demand credentials refuse it, and its nodes stay for the session timeout',
    edits: [
      {
        file: 'session/server-search.ts',
        from: AUTHENTICATED,
        to: 'const zxid = this.#hasEnded ? 0n : await this.#authenticate(connection);',
      },
    ],
    file: FIRST,
    test: ORDER,
  },
  {
    name: 'refusal-is-final',
    what: 'a refusal of the credentials ends a session also after its owner was served',
    danger:
      'while passwords change on the servers one by one, every process that meets another password is gone for good',
    edits: [
      {
        file: 'session/connection/server-rounds.ts',
        from: 'if (refusal !== undefined && !outage.hasServed && this.#round.isOver(this.#servers)) throw refusal;',
        to: 'if (refusal !== undefined && this.#round.isOver(this.#servers)) throw refusal;',
      },
    ],
    file: GOES_ON,
    test: 'an observer with a connect string > goes on, and says so, when the servers refuse its credentials later; at the start it ends',
  },
  {
    name: 'gssapi-unproven',
    what: 'a server is believed by Kerberos before both sides have proven themselves',
    danger: 'anyone who answers in place of a server is believed',
    edits: [
      {
        file: GSSAPI,
        from: '  if (!client.contextComplete) throw new AuthenticationError(INCOMPLETE);\n',
        to: '',
      },
    ],
    file: KERBEROS,
    test: 'an exchange by GSSAPI > refuses a server that has not proven itself',
  },
  {
    name: 'gssapi-without-answer',
    what: 'a server that answers nothing to a ticket has taken it',
    danger:
      'a server without Kerberos serves the session without its identity, and so does one that refuses the ticket and sets allowSaslFailedClients',
    edits: [
      {
        file: GSSAPI,
        from: 'if (!proof) throw new AuthenticationError(NO_PROOF);',
        to: 'if (!proof) return yield undefined;',
      },
    ],
    file: KERBEROS,
    test: 'an exchange by GSSAPI > refuses no answer to the ticket',
  },
  {
    name: 'gssapi-without-offer',
    what: 'a server that has taken the ticket, and offers no security layer, has come to the end of the exchange',
    danger:
      'a server that refuses the client, and sets allowSaslFailedClients, serves the session without its identity',
    edits: [
      {
        file: GSSAPI,
        from: 'if (!offered) throw new AuthenticationError(NO_OFFER);',
        to: 'if (!offered) return yield undefined;',
      },
    ],
    file: KERBEROS,
    test: 'an exchange by GSSAPI > refuses no offer',
  },
  {
    name: 'gssapi-any-layer',
    what: 'the client chooses no security layer although the server does not offer that',
    danger: 'a server that demands encryption gets a connection without it, which it does not understand',
    edits: [
      { file: 'kerberos/gssapi-exchange.ts', from: '((offer[0] as number) & NO_LAYER) === 0', to: 'false' },
    ],
    file: KERBEROS,
    test: 'an exchange by GSSAPI > refuses a server that demands a security layer',
  },
  {
    name: 'gssapi-goes-on-after-its-end',
    what: 'a token after the end of the exchange is ignored',
    danger: 'the two sides disagree on whether the exchange is over, and the session is served all the same',
    edits: [
      {
        file: GSSAPI,
        from: "  if (end) throw new AuthenticationError('a server has sent a token after the end of GSSAPI');\n",
        to: '',
      },
    ],
    file: KERBEROS,
    test: 'an exchange by GSSAPI > refuses a token after the end',
  },
  {
    name: 'kerberos-by-address',
    what: 'a server in the connect string without a name gets a principal all the same',
    danger:
      'the session looks for a ticket that no KDC has, for ever, and nothing says what to write instead',
    edits: [{ file: 'kerberos/kerberos.ts', from: 'if (isIP(host) === 0) return host;', to: 'return host;' }],
    file: KERBEROS,
    test: 'the principal of a server > is not known for an address, and the error says what to do',
  },
  {
    name: 'kerberos-at-once',
    what: 'all connections of a process ask the KDC at the same time',
    danger: 'a KDC that does not answer blocks all threads for files and DNS',
    edits: [{ file: 'kerberos/task-queue.ts', from: 'this.#last.then(', to: 'Promise.resolve().then(' }],
    file: 'unit/kerberos/task-queue.test.ts',
    test: 'turns > come one after the other, also after one that failed',
  },
];
