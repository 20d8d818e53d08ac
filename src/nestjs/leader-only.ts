import type { ElectionSupervisor } from '../cluster/supervisor/supervisor.js';
import { withTerm } from '../lease/current-term.js';
import { checkOptions } from '../platform/checks.js';
import { injectedValue, replacedMethod } from './replaced-method.js';
import { supervisorToken } from './tokens.js';

/** Which leader runs the method. */
export interface LeaderOnlyOptions {
  /** The name that `ConclaveModule.forRoot` got. @default that of the module without a name */
  readonly election?: string;
}

/**
 * The method runs only while this process leads. In the other processes it isn't called, and the call resolves with `undefined`: so say in
 * its type that the method may return that. Each call counts as the leader's work, as with `withTerm`: `currentTerm()` in the method
 * returns the term, and no other process leads before the method has settled, as long as heartbeats arrive.
 *
 * Not guaranteed: that the term is held to the end. Call `currentTerm().assertHeld()` right before each act, or fence it.
 *
 * It may stand above or below other decorators: the method keeps their metadata. It is for methods of providers and controllers that Nest
 * has created. A call on another instance rejects with an `InvalidStateError`.
 *
 * @throws InvalidOptionError unless it decorates a method, and for a wrong option. InvalidStateError without the compiler option
 *   `experimentalDecorators`
 */
export function LeaderOnly(options?: LeaderOnlyOptions): MethodDecorator {
  const { election } = checkOptions<LeaderOnlyOptions>('options', options, ['election']);
  const token = supervisorToken(election);
  return replacedMethod('@LeaderOnly()', (target, _key, method) => {
    const supervisor = injectedValue('@LeaderOnly()', target, token, (_, given: ElectionSupervisor) => given);
    return async function (...args) {
      const { term } = supervisor.of(this);
      if (!term?.isHeld()) return undefined;
      let hasBegun = false;
      const work = () => {
        hasBegun = true;
        return method.apply(this, args);
      };
      try {
        return await withTerm(term, work);
      } catch (error) {
        if (hasBegun) throw error; // Else the term has ended meanwhile: it is as if this process had not led.
        return undefined;
      }
    };
  });
}
