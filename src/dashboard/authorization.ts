import type { ResolvedDashboardOptions } from './dashboard-options.js';
import { isLocal, type Visit } from './guards.js';
import { failure } from './responses.js';

/** Decides who may see and who may act. No call rejects. */
export interface Authorizer {
  mayAct(request: Request): Promise<boolean>;
  /** The answer to a visitor that may not read; `undefined`: it may. */
  readRefusal(request: Request, visit: Visit): Promise<Response | undefined>;
  /** The answer to a visitor that may not act; `undefined`: it may. */
  actRefusal(request: Request): Promise<Response | undefined>;
}

type Options = Pick<ResolvedDashboardOptions, 'authorize' | 'authorizeReads' | 'challenge'>;

/** @param onError - `authorize` has thrown, or has given something else than true or false: that refuses */
export function authorizer(
  { authorize, authorizeReads, challenge }: Options,
  onError: (error: unknown) => void,
): Authorizer {
  const mayAct = async (request: Request): Promise<boolean> => {
    if (authorize === undefined) return false;
    try {
      // A body that it reads is to be read again.
      const answer: unknown = await authorize(request.body === null ? request : request.clone());
      if (typeof answer === 'boolean') return answer;
      throw new TypeError(`authorize returned ${typeof answer} instead of true or false`);
    } catch (error) {
      onError(error);
      return false;
    }
  };
  const refused = () => {
    const error = { code: 'NOT_AUTHORIZED', message: 'this visitor is not authorized' };
    return challenge === undefined
      ? failure(403, error)
      : failure(401, error, { 'www-authenticate': challenge });
  };
  return {
    mayAct,
    readRefusal: async (request, visit) => {
      if (!authorizeReads && isLocal(visit)) return undefined;
      if (authorize === undefined)
        return failure(403, {
          code: 'NOT_LOCAL',
          message: 'without the option authorize, the dashboard answers only visitors on its own machine',
        });
      return (await mayAct(request)) ? undefined : refused();
    },
    actRefusal: async (request) => {
      if (authorize === undefined)
        return failure(403, {
          code: 'READ_ONLY',
          message: 'without the option authorize, the dashboard is read-only',
        });
      return (await mayAct(request)) ? undefined : refused();
    },
  };
}
