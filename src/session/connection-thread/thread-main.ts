import { type MessagePort, parentPort } from 'node:worker_threads';
import { SharedLease } from '../../lease/shared-lease.js';
import { systemEnvironment } from '../../platform/injected-environment.js';
import { HeldConnections } from './held-connection.js';
import type { FromThread, ToThread } from './thread-messages.js';

// Runs in its own thread, see `ThreadHost`. It holds the connections of all sessions of the process that have `maxStallMs`.
const main = parentPort as MessagePort;

function post(message: FromThread, transferred: ArrayBuffer[] = []): void {
  main.postMessage(message, transferred);
}

const connections = new HeldConnections({
  environment: systemEnvironment,
  proved: (lease, sentAt) => new SharedLease(lease).proved(sentAt),
  post,
});
main.on('message', (message: ToThread) => connections.take(message));
post({ kind: 'here' }); // From now on it answers.
