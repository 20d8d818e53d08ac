import { finished } from 'node:stream/promises';

/**
 * Express middleware: only the leader handles the request. The others redirect it to the leader's address, which the leader
 * advertises with the supervisor's option `data`.
 *
 * @param {import('conclave').ElectionSupervisor} supervisor
 * @returns {import('express').RequestHandler<any>}
 */
export function leaderOnly(supervisor) {
  return async (request, response, next) => {
    const { term } = supervisor;
    if (term?.isHeld()) {
      response.locals.term = term;
      // The request is the leader's work: no other replica leads before the response has been sent.
      term.waitUntil(finished(response).catch(() => undefined));
      return next();
    }
    const leader = await supervisor.leader(AbortSignal.timeout(1000)).catch(() => undefined);
    if (typeof leader?.data === 'string' && leader.id !== supervisor.id)
      return response.redirect(307, leader.data + request.originalUrl);
    return response.status(503).set('Retry-After', '1').send('there is no leader at the moment');
  };
}
