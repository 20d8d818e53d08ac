/** A replica, which `main.mjs` starts. */
import { once } from 'node:events';
import { ElectionSupervisor } from 'conclave';
import { block, inPieces, inThread } from './compute.mjs';

const [name, way, connect = '', computeMs] = process.argv.slice(2);
/** @param {string} text */
const say = (text) => process.send?.(`${name} ${text}`);

const supervisor = new ElectionSupervisor({
  connect,
  path: '/elections/reports',
  session: way === 'long-lease' ? { sessionTimeoutMs: 20_000, leaseMs: 8000 } : {},
  watchdog: way === 'watchdog',
  lead: async (term) => {
    say('leads');
    if (name === 'B') {
      await once(term.signal, 'abort');
      return;
    }
    await once(process, 'message');
    if (way === 'pieces') await inPieces(Number(computeMs), term);
    else if (way === 'thread') await inThread(Number(computeMs), term);
    else {
      const beside = way === 'thread-and-block' ? inThread(Number(computeMs), term) : undefined;
      block(Number(computeMs));
      await beside;
    }
    say(`has computed, and ${term.isHeld() ? 'still leads' : 'leads no more'}`);
    void supervisor.stop();
  },
});
supervisor.once('waiting', () => say('waits'));
supervisor.on('demoted', (_, reason) => say(`is demoted: ${reason}`));
supervisor.on('error', (error) => say(`reports: ${error.message}`));
supervisor.once('stopped', () => process.exit());
await supervisor.start();
