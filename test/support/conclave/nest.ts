import 'reflect-metadata';
import type { DynamicModule, INestApplication, LoggerService, Provider } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { onTestFinished } from '../vitest/test-end.js';

/** Decorates a method as TypeScript's `experimentalDecorators` do it: the last decorator comes first. */
export function decorate(
  target: object,
  method: string,
  ...decorators: ((target: object, key: string, descriptor: PropertyDescriptor) => unknown)[]
): void {
  const descriptor = Object.getOwnPropertyDescriptor(target, method) as PropertyDescriptor;
  for (const each of decorators.reverse()) each(target, method, descriptor);
  Object.defineProperty(target, method, descriptor);
}

/** What an application is made of. */
export interface Parts {
  readonly imports?: DynamicModule[];
  readonly providers?: Provider[];
  readonly logger?: LoggerService;
}

/** Creates an application, which `init()` begins. It is closed when the test has ended. */
export async function application({ imports, providers, logger }: Parts): Promise<INestApplication> {
  class App {}
  const module = { module: App, imports: imports ?? [], providers: providers ?? [] };
  const app = await NestFactory.create(module, { logger: logger ?? false, abortOnError: false });
  onTestFinished(() => app.close());
  return app;
}
