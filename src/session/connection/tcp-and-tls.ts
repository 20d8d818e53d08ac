import { isIP, type Socket } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { ignore } from '../../platform/async/promises.js';
import type { Environment, Reader, Server } from '../../platform/injected-environment.js';
import type { Given, RepeatAnswer } from '../connection-thread/heartbeat-repeater.js';

/** One address of a server, and the server as the connect string names it. Certificates are checked for that name. */
export interface Endpoint {
  readonly server: Server;
  readonly address: string;
}

/** Node's options for `tls.connect`. */
export type TlsOptions = ConnectionOptions;

/** Hears what a thread does with a connection. Called on the connection's stack; must not throw. */
export interface Repeats {
  /** A heartbeat of this thread was answered `tookMs` after it was written. Its reply has not been read yet. */
  answered(tookMs: number): void;
  /** The other thread has sent a heartbeat, which was answered. */
  repeated(answer: RepeatAnswer): void;
}

/** What a connection needs of its socket: a `net.Socket`, or one that a thread holds. */
export interface ConnectionSocket {
  on(event: 'data', listener: (bytes: Buffer) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'close', listener: () => void): unknown;
  once(event: Transport['ready'], listener: () => void): unknown;
  write(bytes: Uint8Array | string): unknown;
  destroy(): unknown;
  /** Only of a socket that a thread holds: what the thread may send while this one stands still. `undefined`: nothing. */
  give?(given: Given | undefined, repeats: Repeats): void;
}

export interface Transport {
  readonly socket: ConnectionSocket;
  /** The socket's event after which the handshake may be written. */
  readonly ready: 'connect' | 'secureConnect';
  /** Receives the bytes that the socket doesn't emit as `data`. Set the reader before any bytes can arrive. */
  readonly incoming?: { reader: Reader };
}

const NO_READER: Reader = { read: ignore };

/**
 * Opens a connection to an endpoint, with TLS if there are options for it. The certificate must be valid for the server's name (or its
 * address, if the connect string has that), unless the options say otherwise. With TLS no bytes are written before `secureConnect`, because
 * earlier bytes could reach a server with a wrong certificate, and the handshake contains the session's password.
 */
export function openTransport(
  { server, address }: Endpoint,
  environment: Pick<Environment, 'openSocket'>,
  tls: ConnectionOptions | undefined,
): Transport {
  const at = { host: address, port: server.port };
  if (tls === undefined) {
    const incoming = { reader: NO_READER };
    const socket = environment.openSocket(at, { read: (bytes) => incoming.reader.read(bytes) });
    socket.setNoDelay(true);
    return { socket, ready: 'connect', incoming };
  }
  const socket = environment.openSocket(at);
  socket.setNoDelay(true);
  try {
    return { socket: secured(socket, server, tls), ready: 'secureConnect' };
  } catch (error) {
    // Node checks the options only here. Without a listener, this socket's error would be uncaught.
    socket.on('error', ignore).destroy();
    throw error;
  }
}

function secured(socket: Socket, server: Server, tls: ConnectionOptions): Socket {
  const host = hostNameOf(server);
  // Server Name Indication takes names only: RFC 6066 forbids addresses.
  const name = isIP(host) === 0 ? { servername: host } : {};
  const { connect } = process.getBuiltinModule('node:tls'); // Loaded only on use, because loading takes time.
  return connect({ ...name, ...tls, host, socket });
}

/** The name that a server's certificate and principal have: without the dot by which a resolver takes a name as complete. */
export function hostNameOf({ host }: Server): string {
  return host.replace(/\.$/, '');
}
