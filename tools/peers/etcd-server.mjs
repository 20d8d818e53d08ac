import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../ports.mjs';
import { endProcess, endWithUs } from '../processes.mjs';
import { findEtcd } from './installed.mjs';

const START_WITHIN_MS = 30_000;
const ASK_AGAIN_MS = 50;

/**
 * Starts an etcd server.
 *
 * @param {string} folder a folder for the server's data. The server makes it
 * @returns {Promise<{ address: string, stop: () => Promise<void> }>} with `host:port` for clients
 */
export async function startEtcdServer(folder) {
  const [client, peer] = [await freePort(), await freePort()].map((port) => `127.0.0.1:${port}`);
  /** @type {Record<string, string>} */
  const options = {
    'data-dir': folder,
    'listen-client-urls': `http://${client}`,
    'advertise-client-urls': `http://${client}`,
    'listen-peer-urls': `http://${peer}`,
    'initial-advertise-peer-urls': `http://${peer}`,
    'initial-cluster': `default=http://${peer}`,
  };
  const args = Object.entries(options).map(([name, value]) => `--${name}=${value}`);
  const child = spawn(findEtcd(), args, { stdio: 'ignore' });
  endWithUs(child);
  const exited = once(child, 'exit');
  const stop = () => endProcess(child);
  try {
    await Promise.race([
      untilHealthy(`http://${client}/health`),
      exited.then(([code]) => {
        throw new Error(`etcd ended (${code})`);
      }),
    ]);
  } catch (error) {
    await stop();
    throw error;
  }
  return { address: `${client}`, stop };
}

/** @param {string} url */
async function untilHealthy(url) {
  const deadline = performance.now() + START_WITHIN_MS;
  while (performance.now() < deadline) {
    const answer = await fetch(url).then(
      (response) => response.text(),
      () => '',
    );
    if (answer.includes('true')) return;
    await pause(ASK_AGAIN_MS);
  }
  throw new Error(`etcd was not healthy within ${START_WITHIN_MS} ms`);
}
