/** Wrong ways in which a connection authenticates. */

/** @import { Mutant } from './mutants.mjs' */

const [FIRST, GOES_ON] = ['integration/hostile-server.test.ts', 'integration/observer.test.ts'];
const ORDER =
  'a server that is not what it should be > that demands credentials gets them first on each connection, before a ping asks what it has seen, and before the goodbye';
const AUTHENTICATED = 'const zxid = await this.#authenticate(connection);';

/** @type {readonly Mutant[]} */
export const SASL_MUTANTS = [
  {
    name: 'no-rspauth-check',
    what: 'the proof of the server is not checked',
    danger:
      'anyone who answers in place of a server is believed, and a server that lets in any password, too',
    edits: [
      { file: 'session/sasl/digest-md5.ts', from: '        checkProof(token, state.rspauth);\n', to: '' },
    ],
    file: 'unit/session/sasl/digest-md5.test.ts',
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
        file: 'session/connection/dialer.ts',
        from: 'if (isRoundOver && this.#refusal !== undefined && !outage.hasServed) throw this.#refusal;',
        to: 'if (isRoundOver && this.#refusal !== undefined) throw this.#refusal;',
      },
    ],
    file: GOES_ON,
    test: 'an observer with a connect string > goes on, and says so, when the servers refuse its credentials later; at the start it ends',
  },
  {
    name: 'stands-in-without-sasl',
    what: 'the thread of maxStallMs replaces a connection of a session with SASL',
    danger: 'it shows the session to a server without its identity, which refuses all repeats',
    edits: [
      {
        file: 'session/connection-thread/held-connection.ts',
        from: '    if (this.#opening.servers.length === 0) return undefined;\n',
        to: '',
      },
    ],
    file: 'unit/session/connection-thread/held-connection.test.ts',
    test: 'a connection that is lost in a stall > is not replaced if the thread was given no servers, because it can not authenticate there',
  },
];
