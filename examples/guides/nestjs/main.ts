import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';

const app = await NestFactory.create(AppModule);
app.enableShutdownHooks(); // SIGTERM closes the application, which stops the supervisor.
await app.listen(process.env.PORT ?? 3000);
console.log(`listening at ${await app.getUrl()}`);
