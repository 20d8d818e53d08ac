import { finished } from 'node:stream/promises';

/**
 * A Fastify hook: only the leader handles the request. The others redirect it to the leader's address, which the leader
 * advertises with the supervisor's option `data`.
 *
 * @param {import('conclave').ElectionSupervisor} supervisor
 * @returns {import('fastify').preHandlerAsyncHookHandler}
 */
export function leaderOnly(supervisor) {
  return async (request, reply) => {
    const { term } = supervisor;
    if (term?.isHeld()) {
      request.setDecorator('term', term);
      // The request is the leader's work: no other replica leads before the response has been sent.
      term.waitUntil(finished(reply.raw).catch(() => undefined));
      return;
    }
    const leader = await supervisor.leader(AbortSignal.timeout(1000)).catch(() => undefined);
    if (typeof leader?.data === 'string' && leader.id !== supervisor.id)
      return reply.redirect(leader.data + request.originalUrl, 307);
    return reply.code(503).header('Retry-After', '1').send('there is no leader at the moment');
  };
}
