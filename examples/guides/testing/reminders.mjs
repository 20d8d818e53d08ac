import { ElectionSupervisor } from 'conclave';

/**
 * The service under test: its leader reminds once an hour. It takes the options of its session from outside, which is all
 * that a test needs.
 */
export class Reminders {
  /** @type {string[]} */
  sent = [];

  /** @param {Pick<import('conclave').ElectionSupervisorOptions, 'connect' | 'session'>} options */
  constructor({ connect, session = {} }) {
    this.supervisor = new ElectionSupervisor({
      connect,
      path: '/shop/reminders',
      session,
      lead: async (term) => {
        while (term.isHeld()) {
          this.sent.push(`reminder in term ${term.number}`);
          await new Promise((resolve) => {
            const timer = setTimeout(resolve, 3_600_000); // The application's own timer.
            term.signal.addEventListener('abort', () => resolve(clearTimeout(timer)), { once: true });
          });
        }
      },
    });
  }
}
