import { type MessagePort, parentPort } from 'node:worker_threads';
import { LeaseCell } from '../../lease/lease-cell.js';
import { systemEnvironment } from '../../platform/injected-environment.js';
import { HeldConnection, type HeldConnectionPort } from './held-connection.js';
import { type FromThread, type ToThread, toSent } from './messages.js';

// Runs in its own thread, see `ThreadHost`. It holds the connections of all sessions of the process that have `maxStallMs`.
const main = parentPort as MessagePort;
const connections = new Map<number, HeldConnection>();

const port: HeldConnectionPort = {
  environment: systemEnvironment,
  extend: (cell, until) => new LeaseCell(cell).extend(until),
  post: (message, transferred) => {
    if (message.kind === 'closed') connections.delete(message.id);
    post(message, transferred);
  },
};

function post(message: FromThread, transferred: ArrayBuffer[] = []): void {
  main.postMessage(message, transferred);
}

function open(message: ToThread & { kind: 'open' }): void {
  const { id, at, kind: _, ...opening } = message;
  try {
    connections.set(id, new HeldConnection(id, opening, at, port));
  } catch (error) {
    post({ kind: 'failed', id, error: toSent(error) });
    post({ kind: 'closed', id });
  }
}

main.on('message', (message: ToThread) => {
  switch (message.kind) {
    case 'open':
      return open(message);
    case 'write':
      return connections.get(message.id)?.write(message.bytes);
    case 'give':
      return connections.get(message.id)?.give(message.given);
    case 'destroy':
      return connections.get(message.id)?.destroy();
    case 'ask':
      return post({ kind: 'here' });
  }
});
post({ kind: 'here' }); // From now on it answers.
