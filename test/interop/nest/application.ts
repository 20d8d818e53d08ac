/**
 * An application of Nest that uses all of conclave/nestjs, compiled and run with one version of Nest by nest-versions.test.ts. Prints, as
 * JSON, what it has seen.
 *
 *     node application.js ZOOKEEPER PATH
 */
import 'reflect-metadata';
import { Injectable, Module, type OnModuleDestroy } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Cron, Interval, ScheduleModule } from '@nestjs/schedule';
import { HealthCheckService, TerminusModule } from '@nestjs/terminus';
import { currentTerm, ElectionSupervisor } from 'conclave';
import type { JobRun } from 'conclave/jobs';
import {
  ConclaveModule,
  InjectSupervisor,
  LeaderJob,
  LeaderOnly,
  leaderHealth,
  supervisorToken,
} from 'conclave/nestjs';

const [connect = '', path = ''] = process.argv.slice(2);
const calls = new Set<string>();
const seen: Record<string, unknown> = {};

@Injectable()
class Base {
  @InjectSupervisor()
  declare readonly unnamed: ElectionSupervisor;

  constructor(
    @InjectSupervisor('named') readonly named: ElectionSupervisor,
    readonly supervisor: ElectionSupervisor, // By emitDecoratorMetadata.
  ) {}

  @LeaderOnly({ election: 'named' })
  async pathOf(end: string) {
    return { path: this.named.path + end, isItsTerm: currentTerm() === this.named.term };
  }

  @Cron('* * * * * *')
  @LeaderOnly()
  async above() {
    calls.add(`@Cron above @LeaderOnly, of ${this.constructor.name}, in a term: ${currentTerm().isHeld()}`);
  }

  @LeaderOnly()
  @Interval(300)
  async below() {
    calls.add(
      `@Interval below @LeaderOnly, of ${this.constructor.name}, in a term: ${currentTerm().isHeld()}`,
    );
  }
}

@Injectable()
class Service extends Base {
  @Cron('* * * * * *')
  @LeaderJob({ name: 'above', election: 'named' })
  async jobAbove({ term }: JobRun) {
    calls.add(`@Cron above @LeaderJob, in its term: ${term === currentTerm()}`);
  }

  @LeaderJob({ election: 'named' })
  @Interval(300)
  async jobBelow({ scheduledFor, term }: JobRun) {
    const isWhole = scheduledFor.getTime() % 1000 === 0;
    calls.add(
      `@Interval below @LeaderJob, in its term: ${term === currentTerm()}, at a whole second: ${isWhole}`,
    );
  }
}

@Injectable()
class Resource implements OnModuleDestroy {
  constructor(@InjectSupervisor('named') private readonly supervisor: ElectionSupervisor) {}

  onModuleDestroy() {
    seen.stillLiveInAnotherOnModuleDestroy = this.supervisor.health().live;
  }
}

@Module({
  imports: [
    ScheduleModule.forRoot(),
    TerminusModule,
    ConclaveModule.forRoot({ connect, path: `${path}/unnamed` }),
    ConclaveModule.forRootAsync({ name: 'named', useFactory: () => ({ connect, path: `${path}/named` }) }),
  ],
  providers: [Service, Resource],
})
class Application {}

let created = 0;
const unnamed = (name: string) =>
  ConclaveModule.forRootAsync({
    useFactory: () => {
      created++;
      return { connect, path: `${path}/${name}` };
    },
  });

@Module({ imports: [unnamed('one'), unnamed('two')] })
class TwoWithoutNames {}

async function until(condition: () => boolean, what: string) {
  for (let tries = 0; !condition(); tries++) {
    if (tries === 2000) throw new Error(`not within 20 s: ${what}; seen: ${[...calls].join('; ')}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

async function main() {
  const app = await NestFactory.createApplicationContext(Application, { logger: false });
  const service = app.get(Service);
  seen.injected = [service.unnamed.path, service.supervisor.path, service.named.path];
  seen.byToken = app.get(supervisorToken('named')) === service.named;
  await until(() => service.unnamed.isLeader && service.named.isLeader, 'two leaders');
  seen.leaderOnly = await service.pathOf('/end');
  await until(() => calls.size === 4, 'the scheduled methods');
  seen.calls = [...calls].sort();

  const health = await app.resolve(HealthCheckService);
  seen.up = await health.check([
    leaderHealth(service.named, 'live'),
    leaderHealth(service.unnamed, 'ready', 'unnamed'),
  ]);
  const idle = new ElectionSupervisor({ connect, path: `${path}/idle` });
  seen.down = await health.check([leaderHealth(idle, 'live')]).catch((error) => error.getResponse());

  await app.close();
  seen.stopped = [service.unnamed, service.named].map((each) => each.health().reasons.join());

  const two = await NestFactory.createApplicationContext(TwoWithoutNames, { logger: false });
  await two.close();
  seen.supervisorsOfTwoWithoutNames = created;
  console.log(JSON.stringify(seen, null, 2));
}

void main();
