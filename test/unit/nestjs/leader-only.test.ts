import { SetMetadata } from '@nestjs/common';
import { describe, expect, it } from 'vitest';
import { ElectionSupervisor } from '../../../src/cluster/supervisor/election-supervisor.js';
import { InjectSupervisor, supervisorToken } from '../../../src/nestjs/injection-tokens.js';
import { LeaderJob } from '../../../src/nestjs/leader-job.js';
import { LeaderOnly } from '../../../src/nestjs/leader-only.js';
import { application, decorate } from '../../support/conclave/nest.js';

/** A term that runs work at the next turn. `endsAfter`: how often it says that it is held. */
class FakeTerm {
  #endsAfter: number;

  constructor(endsAfter = Number.POSITIVE_INFINITY) {
    this.#endsAfter = endsAfter;
  }

  isHeld() {
    return this.#endsAfter-- > 0;
  }

  assertHeld() {
    if (!this.isHeld()) throw new Error('the term has ended');
  }

  waitUntil(work: () => Promise<void>) {
    setImmediate(work);
  }
}

/** Creates a service whose method `work` has the decorators, with a supervisor that leads the term. */
async function serviceOf(term: FakeTerm | undefined, ...decorators: Parameters<typeof decorate>[2][]) {
  class Service {
    calls = 0;

    async work(...args: unknown[]) {
      this.calls++;
      if (args[0] === 'fail') throw new Error('of the work');
      return args;
    }
  }
  decorate(Service.prototype, 'work', ...decorators);
  const app = await application({
    providers: [Service, { provide: ElectionSupervisor, useValue: { term } }],
  });
  return { Service, service: app.get(Service) };
}

describe('@LeaderOnly()', () => {
  it('runs the method while this process leads, with its arguments, on its instance', async () => {
    const { service } = await serviceOf(new FakeTerm(), LeaderOnly());
    expect(await service.work(1, 'two')).toEqual([1, 'two']);
    expect(service.calls).toBe(1);
  });

  it.each([
    ['without a term', undefined],
    ['with a term that is over', new FakeTerm(0)],
    ['with a term that ends before the work may begin', new FakeTerm(1)],
    ['with a term that ends in the moment in which the work begins', new FakeTerm(2)],
  ])('gives undefined %s, and runs nothing', async (_, term) => {
    const { service } = await serviceOf(term, LeaderOnly());
    expect(await service.work()).toBeUndefined();
    expect(service.calls).toBe(0);
  });

  it('rejects with the error of the method', async () => {
    const { service } = await serviceOf(new FakeTerm(), LeaderOnly());
    await expect(service.work('fail')).rejects.toThrow('of the work');
  });

  it.each([
    ['above', [LeaderOnly(), SetMetadata('cron', 'each minute')]],
    ['below', [SetMetadata('cron', 'each minute'), LeaderOnly()]],
  ])(
    'keeps the metadata of a decorator that it stands %s, and the name of the method',
    async (_, decorators) => {
      const { Service } = await serviceOf(undefined, ...decorators);
      expect(Reflect.getMetadata('cron', Service.prototype.work)).toBe('each minute');
      expect(Service.prototype.work.name).toBe('work');
    },
  );

  it('shows nothing of itself in the instances', async () => {
    const { service } = await serviceOf(new FakeTerm(), LeaderOnly());
    expect(
      Reflect.ownKeys(service).filter((key) => Object.prototype.propertyIsEnumerable.call(service, key)),
    ).toEqual(['calls']);
  });

  it('refuses calls on instances that Nest has not created, and says so', async () => {
    const { Service } = await serviceOf(new FakeTerm(), LeaderOnly());
    await expect(new Service().work()).rejects.toMatchObject({
      code: 'INVALID_STATE',
      message: expect.stringMatching(
        /@LeaderOnly\(\) .* in this Service: Nest must have created the instance/,
      ),
    });
    const unbound = Service.prototype.work as (this: undefined) => Promise<unknown>;
    await expect(unbound.call(undefined)).rejects.toThrow('in this call without an instance');
  });

  it('belongs to methods of instances, and says so', () => {
    class Service {
      readonly field = 1;

      static work() {
        return 1;
      }
    }
    expect(() => decorate(Service, 'work', LeaderOnly())).toThrow('a method that is not static');
    const ofProperty = LeaderOnly() as PropertyDecorator;
    expect(() => ofProperty(Service.prototype, 'field')).toThrow(
      '@LeaderOnly() field is undefined: expected a method',
    );
    expect(() => LeaderOnly({ election: '' })).toThrow('name is "": expected');
    expect(() => LeaderOnly({ name: 'jobs' } as never)).toThrow('options.name');
  });

  it('needs experimentalDecorators, and says so', () => {
    const context = { kind: 'method', name: 'work' } as never;
    const standard = (decorator: unknown) => () =>
      (decorator as (value: unknown, context: object) => void)(() => undefined, context);
    for (const decorator of [LeaderOnly(), LeaderJob(), InjectSupervisor()])
      expect(standard(decorator)).toThrow(/^@\w+\(\) needs "experimentalDecorators": true/);
  });
});

describe('supervisorToken()', () => {
  it('is the class without a name, and else a text of its own', () => {
    expect(supervisorToken()).toBe(ElectionSupervisor);
    expect(supervisorToken('reports')).toBe('ElectionSupervisor:reports');
    expect(() => supervisorToken(7 as never)).toThrow('name is 7: expected');
  });
});
