import { Inject, type InjectionToken } from '@nestjs/common';
import { InvalidOptionError, InvalidStateError } from '../errors.js';

/** A method of an instance that Nest has created. */
export type Method = (this: object, ...args: unknown[]) => unknown;

/** A decorator that replaces the method, and keeps what other decorators have noted on it, as `@Cron()` does. */
export function replacedMethod(
  decorator: string,
  replace: (target: object, key: string | symbol, method: Method) => Method,
): (target: object, key: string | symbol, descriptor: PropertyDescriptor) => void {
  return (target, key, descriptor) => {
    refuseStandardDecorators(decorator, key);
    const method: unknown = descriptor?.value;
    if (typeof target === 'function' || typeof method !== 'function')
      throw new InvalidOptionError(`${decorator} ${String(key)}`, method, 'a method that is not static');
    const replacement = replace(target, key, method as Method);
    Object.defineProperty(replacement, 'name', { value: method.name }); // Interceptors ask for it.
    for (const noted of Reflect.getOwnMetadataKeys(method))
      Reflect.defineMetadata(noted, Reflect.getOwnMetadata(noted, method), replacement);
    descriptor.value = replacement;
  };
}

/**
 * Has Nest inject what the token stands for into each instance of a class that it creates.
 *
 * @param arrived - called with each instance and what is injected. It returns the value of the instance
 * @returns the value of an instance. It throws InvalidStateError if Nest has injected nothing into the instance
 */
export function injectedValue<Given, T>(
  decorator: string,
  target: object,
  token: InjectionToken,
  arrived: (instance: object, given: Given) => T | undefined,
): (instance: object) => T {
  const property = Symbol(decorator);
  // Nest assigns the property. What the instance gets instead can't be enumerated, so that loggers don't show it.
  Object.defineProperty(target, property, {
    set(this: object, given: Given) {
      Object.defineProperty(this, property, { value: arrived(this, given), configurable: true });
    },
  });
  Inject(token)(target, property);
  return (instance) => {
    const value = (instance as { [property]?: T } | undefined)?.[property];
    if (value !== undefined) return value;
    throw new InvalidStateError(
      `${decorator} has nothing to work with in this ${instance?.constructor.name ?? 'call without an instance'}: ` +
        'Nest must have created the instance, as a provider or a controller that is a class, ' +
        'and no subclass may override the method',
    );
  };
}

/** @param key - the second argument of a decorator: the context, if the compiler's decorators are those of the standard */
export function refuseStandardDecorators(decorator: string, key: unknown): void {
  if (typeof key !== 'object' || key === null) return;
  throw new InvalidStateError(
    `${decorator} needs "experimentalDecorators": true among the options of the compiler, as Nest's own decorators do`,
  );
}
