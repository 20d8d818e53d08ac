import { setTimeout as sleep } from 'node:timers/promises';

/**
 * The leader's work: puts the rows of an outbox into a BullMQ queue, in their order.
 *
 * @param {import('conclave').Term} term
 * @param {import('bullmq').Queue} queue
 * @param {Outbox} outbox
 */
export async function relay(term, queue, outbox) {
  while (term.isHeld()) {
    for (const { id, payload } of await outbox.unsent()) {
      term.assertHeld(); // Right before each job.
      // A relay that was killed before it marked the row is followed by one that adds it again: BullMQ ignores a known id.
      await queue.add('order', payload, { jobId: `order-${id}`, removeOnComplete: { age: 24 * 3600 } });
      await outbox.markSent(id);
    }
    await sleep(200, undefined, { signal: term.signal });
  }
}

/**
 * @typedef {object} Outbox a table of your database
 * @property {() => Promise<{ id: number, payload: object }[]>} unsent in their order
 * @property {(id: number) => Promise<void>} markSent
 */
