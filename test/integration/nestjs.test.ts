import { type LoggerService, Module } from '@nestjs/common';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ElectionSupervisor } from '../../src/cluster/supervisor/election-supervisor.js';
import { LeaderJobs } from '../../src/jobs/leader-jobs.js';
import { currentTerm } from '../../src/lease/current-term.js';
import {
  ConclaveModule,
  type ConclaveModuleOptions,
  type ConclaveOptionsFactory,
} from '../../src/nestjs/conclave-module.js';
import { InjectSupervisor, supervisorToken } from '../../src/nestjs/injection-tokens.js';
import { LeaderOnly, type LeaderOnlyDecorator } from '../../src/nestjs/leader-only.js';
import { application, decorate, type Parts } from '../support/conclave/nest.js';
import { connectString, uniquePath } from '../support/conclave/sessions.js';
import { eventAfter, nextEvent } from '../support/events.js';
import { recordingLogger as recordingJsonLogger } from '../support/recording-logger.js';
import { deferred, until } from '../support/waiting.mjs';

const connect = () => connectString();

/** An application with the module of one election. */
const applicationOf = (options: Partial<ConclaveModuleOptions> = {}, parts: Parts = {}) =>
  application({
    imports: [ConclaveModule.forRoot({ connect: connect(), path: uniquePath('nest'), ...options })],
    ...parts,
  });

/** A logger for Nest, and the errors that it got. */
function recordingLogger() {
  const lines: string[] = [];
  const error = (message: unknown, ...others: unknown[]) =>
    void lines.push(`${message}, by ${others.at(-1)}`);
  const logger: LoggerService = { log: () => undefined, warn: () => undefined, error };
  return { lines, logger };
}

describe('ConclaveModule', () => {
  it('starts the supervisor with the application, and gives the term back when that closes', async () => {
    const path = uniquePath('nest');
    const app = await applicationOf({ path });
    const supervisor = app.get(ElectionSupervisor);
    expect(supervisor.health().reasons).toEqual(['not started']);
    await eventAfter(supervisor, 'elected', () => app.init());
    const next = new ElectionSupervisor({ connect: connect(), path });
    onTestFinished(() => next.stop());
    await next.start();
    await eventAfter(next, 'elected', () => app.close());
    expect(supervisor.health().reasons).toEqual(['stopped']);
    expect(next.term?.number).toBe(2);
  });

  it('begins and closes without a server', async () => {
    const app = await applicationOf({ connect: '127.0.0.1:1' });
    await app.init();
    expect(app.get(ElectionSupervisor).health()).toMatchObject({ live: true, ready: false });
    await app.close();
  });

  it('closes although it has never begun', async () => {
    const app = await applicationOf();
    await app.close();
    expect(app.get(ElectionSupervisor).health().reasons).toEqual(['stopped']);
  });

  it('has several elections, by their names', async () => {
    const paths = { reports: uniquePath('nest'), mails: uniquePath('nest'), unnamed: uniquePath('nest') };
    class Service {
      declare readonly reports: ElectionSupervisor;
      readonly all: readonly ElectionSupervisor[];

      constructor(...all: ElectionSupervisor[]) {
        this.all = all;
      }

      async termOfMails() {
        return currentTerm();
      }
    }
    InjectSupervisor('reports')(Service.prototype, 'reports');
    InjectSupervisor('mails')(Service, undefined, 0);
    InjectSupervisor()(Service, undefined, 1);
    Reflect.defineMetadata('design:paramtypes', [Object, Object], Service);
    decorate(Service.prototype, 'termOfMails', LeaderOnly({ election: 'mails' }));
    const app = await application({
      imports: [
        ConclaveModule.forRoot({ connect: connect(), path: paths.reports, name: 'reports' }),
        ConclaveModule.forRootAsync({
          name: 'mails',
          useFactory: () => ({ connect: connect(), path: paths.mails }),
        }),
        ConclaveModule.forRoot({ connect: connect(), path: paths.unnamed }),
      ],
      providers: [Service],
    });
    const { reports, all, ...service } = app.get(Service);
    expect([reports.path, ...all.map((each) => each.path)]).toEqual([
      paths.reports,
      paths.mails,
      paths.unnamed,
    ]);
    expect(service).toEqual({});
    const mails = app.get<ElectionSupervisor>(supervisorToken('mails'));
    await eventAfter(mails, 'elected', () => app.init());
    expect(await app.get(Service).termOfMails()).toBe(mails.term);
  });

  it('gives the errors to the logger of Nest', async () => {
    const { lines, logger } = recordingLogger();
    const lead = async () => {
      throw new Error('of the work');
    };
    const app = await applicationOf({ lead }, { logger });
    await eventAfter(app.get(ElectionSupervisor), 'error', () => app.init());
    expect(lines).toEqual([
      expect.stringMatching(/^something went wrong .*Error: of the work.*, by ConclaveModule$/s),
    ]);
  });

  it('waits for the work of the leader for so long, and then tells Nest what still runs', async () => {
    const work = deferred();
    const { lines, logger } = recordingLogger();
    const app = await applicationOf({ lead: () => work.promise, stopWithinMs: 50 }, { logger });
    await eventAfter(app.get(ElectionSupervisor), 'elected', () => app.init());
    await app.close();
    expect(lines).toEqual([
      expect.stringMatching(/^StopPendingError: .* has waited for 50 ms: `lead` of term 1/),
    ]);
    work.resolve();
    await app.get(ElectionSupervisor).stop();
  });

  it('logged past the logger of Nest, also of a job for which no call waits', async () => {
    const { lines, logger } = recordingLogger();
    const app = await applicationOf({}, { logger });
    const job = app.get(LeaderJobs).job('late', () => Promise.reject(new Error('of the job')));
    await job(); // Nobody leads, so it is remembered.
    await app.init();
    await until(() => lines.length === 1);
    expect(lines[0]).toMatch(/^a job failed .*job=late .*Error: of the job\n.*, by ConclaveModule$/s);
  });

  it('logged what becomes of jobs by the logger of Nest, although it was given another one', async () => {
    const given = recordingJsonLogger();
    const { lines, logger } = recordingLogger();
    const app = await applicationOf({ logger: given.logger }, { logger });
    const job = app.get(LeaderJobs).job('late', () => Promise.reject(new Error('of the job')));
    await job(); // Nobody leads, so it is remembered.
    await app.init();
    const errors = () => given.lines.filter(({ level }) => level === 'error').map(({ message }) => message);
    await until(() => [...lines, ...errors()].length > 0);
    expect([lines, errors()]).toEqual([[], ['a job failed']]);
  });

  it('failed at the bootstrap with the stand-in of a test for the supervisor', async () => {
    const module = ConclaveModule.forRoot({ connect: '127.0.0.1:1', path: '/nest' });
    const standIn = { provide: ElectionSupervisor, useValue: { term: undefined } };
    // As overrideProvider() of @nestjs/testing does.
    const providers = module.providers?.map((each) =>
      'provide' in each && each.provide === ElectionSupervisor ? standIn : each,
    );
    const app = await application({ imports: [{ ...module, providers: providers ?? [] }] });
    await app.init();
    await expect(app.get(LeaderJobs).job('job', () => 1)()).rejects.toThrow(
      'override the provider LeaderJobs',
    );
    await app.close();
  });

  it('takes the options from a function that Nest injects into, from a class, and from a provider of another module', async () => {
    const path = uniquePath('nest');
    class Settings implements ConclaveOptionsFactory<string> {
      createConclaveOptions() {
        return {
          connect: connect(),
          path,
          prepare: () => 'warm',
          lead: async (_: unknown, warm: string) => void warm,
        };
      }
    }
    const settings = {
      module: class {},
      providers: [Settings, { provide: 'path', useValue: path }],
      exports: [Settings, 'path'],
    };
    Module({})(settings.module);
    const useFactory = async (given: string) => ({ connect: connect(), path: given });
    for (const module of [
      ConclaveModule.forRootAsync({ imports: [settings], inject: ['path'], useFactory }),
      ConclaveModule.forRootAsync({ useClass: Settings }),
      ConclaveModule.forRootAsync({ imports: [settings], useExisting: Settings }),
    ]) {
      const app = await application({ imports: [module] });
      expect(app.get(ElectionSupervisor).path).toBe(path);
    }
  });

  it('did not compile with a standby that prepares', async () => {
    const led = deferred<number>();
    const module = ConclaveModule.forRoot({
      ...{ connect: connect(), path: uniquePath('nest') },
      prepare: async () => ({ cached: 7 }),
      lead: async (_, { cached }) => led.resolve(cached),
    });
    const app = await application({ imports: [module] });
    await app.init();
    expect(await led.promise).toBe(7);
  });

  it('refuses wrong options, with their names', async () => {
    const good = { connect: connect(), path: '/nest' };
    expect(() => ConclaveModule.forRoot(undefined as never)).toThrow(
      'options is undefined: expected an object',
    );
    expect(() => ConclaveModule.forRoot({ ...good, name: '' })).toThrow('name is "": expected');
    expect(() => ConclaveModule.forRoot({ ...good, stopWithinMs: 0 })).toThrow('stopWithinMs is 0: expected');
    expect(() => ConclaveModule.forRootAsync({})).toThrow(
      'the number of useFactory, useClass and useExisting is 0: expected 1',
    );
    expect(() => ConclaveModule.forRootAsync({ useFactory: () => good, path: '/' } as never)).toThrow(
      'options.path',
    );
    const imports = [ConclaveModule.forRoot({ ...good, pth: '/' } as never)];
    await expect(application({ imports })).rejects.toThrow('supervisor.pth');
  });
});

describe('@LeaderOnly()', () => {
  it('runs in one replica, and no other one leads before the method has settled', async () => {
    const path = uniquePath('nest');
    const written: string[] = [];
    const begun = deferred();
    const write = deferred();
    class Reports {
      async write(name: string) {
        const { token } = currentTerm();
        begun.resolve();
        await write.promise;
        written.push(name);
        return token;
      }
    }
    decorate(Reports.prototype, 'write', LeaderOnly());
    const replica = async () => {
      const app = await applicationOf({ path }, { providers: [Reports] });
      return { app, supervisor: app.get(ElectionSupervisor), reports: app.get(Reports) };
    };
    const [first, second] = [await replica(), await replica()];
    await eventAfter(first.supervisor, 'elected', () => first.app.init());
    await eventAfter(second.supervisor, 'waiting', () => second.app.init());
    expect(await second.reports.write('of the second')).toBeUndefined();
    const report = first.reports.write('of the first');
    await begun.promise;
    const { token } = first.supervisor.term as { token: bigint };
    const elected = nextEvent(second.supervisor, 'elected').then(() => written.push('elected'));
    const demoted = nextEvent(first.supervisor, 'demoted');
    const closed = first.app.close();
    await demoted;
    expect(await first.reports.write('too late')).toBeUndefined();
    write.resolve();
    expect(await report).toBe(token);
    await Promise.all([closed, elected]);
    expect(written).toEqual(['of the first', 'elected']);
  });

  it('takes only methods whose callers know that they get a promise, and answers with 503 if it is to', async () => {
    class Reports {
      isReady() {
        return false;
      }

      async write() {
        return 'written';
      }
    }
    const typed = (decorator: LeaderOnlyDecorator) => {
      const of = (name: keyof Reports) => Object.getOwnPropertyDescriptor(Reports.prototype, name) as object;
      decorator(Reports.prototype, 'write', of('write') as TypedPropertyDescriptor<Reports['write']>);
      // @ts-expect-error A caller would take the promise for true.
      decorator({}, 'isReady', of('isReady') as TypedPropertyDescriptor<Reports['isReady']>);
    };
    expect(typed).toBeTypeOf('function');
    decorate(Reports.prototype, 'write', LeaderOnly({ otherwise: '503' }));
    const app = await applicationOf({ connect: '127.0.0.1:1' }, { providers: [Reports] });
    await expect(app.get(Reports).write()).rejects.toMatchObject({ status: 503 });
    expect(() => LeaderOnly({ otherwise: 503 as never })).toThrow('otherwise is 503');
  });
});
