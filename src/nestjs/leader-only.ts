import { ServiceUnavailableException } from '@nestjs/common';
import type { ElectionSupervisor } from '../cluster/supervisor/election-supervisor.js';
import { withTerm } from '../lease/current-term.js';
import { checkOneOf, checkOptions } from '../platform/checks.js';
import { supervisorToken } from './injection-tokens.js';
import { injectedValue, replacedMethod } from './method-decoration.js';

/** Which leader runs the method. */
export interface LeaderOnlyOptions {
  /** The name that `ConclaveModule.forRoot` got. @default that of the module without a name */
  readonly election?: string;
  /**
   * What a call does in a process that doesn't lead: it resolves with `undefined`, or rejects with a `ServiceUnavailableException`, which Nest
   * answers with the status 503: for controllers. @default 'undefined'
   */
  readonly otherwise?: 'undefined' | '503';
}

/** Decorates a method that returns a promise, as its callers get one. */
export interface LeaderOnlyDecorator {
  /** @typeParam Work - the method's type */
  // biome-ignore lint/style/useShorthandFunctionType: a docstring of its own can name the type parameter.
  <Work extends (...args: never[]) => Promise<unknown>>(
    target: object,
    key: string | symbol,
    descriptor: TypedPropertyDescriptor<Work>,
  ): void;
}

/**
 * The method runs only while this process leads. In the other processes it isn't called, and the call resolves with `undefined`: so say in
 * its type that the method may return that, or choose 503 by `otherwise`. Each call counts as the leader's work, as with `withTerm`: `currentTerm()` in the method
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
export function LeaderOnly(options?: LeaderOnlyOptions): LeaderOnlyDecorator {
  const given = checkOptions<LeaderOnlyOptions>('options', options, ['election', 'otherwise']);
  const { election } = given;
  const otherwise = checkOneOf('otherwise', given.otherwise, ['undefined', '503'], 'undefined');
  const notCalled = () => {
    if (otherwise === '503') throw new ServiceUnavailableException('this process does not lead');
    return undefined;
  };
  const token = supervisorToken(election);
  return replacedMethod('@LeaderOnly()', (target, _key, method) => {
    const supervisorOf = injectedValue(
      '@LeaderOnly()',
      target,
      token,
      (_, given: ElectionSupervisor) => given,
    );
    return async function (...args) {
      const { term } = supervisorOf(this);
      if (!term?.isHeld()) return notCalled();
      let hasBegun = false;
      const work = () => {
        hasBegun = true;
        return method.apply(this, args);
      };
      try {
        return await withTerm(term, work);
      } catch (error) {
        if (hasBegun) throw error; // Else the term has ended meanwhile: it is as if this process had not led.
        return notCalled();
      }
    };
  });
}
