/** The dashboard in Nest, before its own body parser and controllers. With TypeScript, `@Module({})` says what `Module({})(App)` does. */
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { toNodeListener } from 'conclave/dashboard';

class App {}
Module({})(App);

/** @param {import('conclave/dashboard').DashboardHandler} dashboard */
export async function withNest(dashboard) {
  const app = await NestFactory.create(App, { logger: false });
  app.use('/admin/conclave', toNodeListener(dashboard));
  await app.init();
  return app.getHttpServer();
}
