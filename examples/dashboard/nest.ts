/**
 * The dashboard in Nest, before its own body parser and controllers. With `experimentalDecorators` you can write `@Module({})` in
 * place of `Module({})(App)`.
 */
import 'reflect-metadata';
import type { Server } from 'node:http';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { type DashboardHandler, toNodeListener } from 'conclave/dashboard';

class App {}
Module({})(App);

export async function withNest(dashboard: DashboardHandler): Promise<Server> {
  const app = await NestFactory.create(App, { logger: false });
  app.use('/admin/conclave', toNodeListener(dashboard));
  await app.init();
  return app.getHttpServer();
}
