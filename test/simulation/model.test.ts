import { describe, expect, it } from 'vitest';
import { Random } from '../support/seeded-random.js';
import { Machine } from './machine.js';
import { Ensemble } from './model/ensemble.js';
import { firstZxid } from './model/transaction.js';
import { Link, Pipe } from './network.js';
import { Scheduler } from './scheduler.js';

async function run(scheduler: Scheduler, forMs: number): Promise<void> {
  let over = false;
  scheduler.after(forMs, () => {
    over = true;
    scheduler.followUp();
  });
  await scheduler.run(() => over);
}

function setting() {
  const scheduler = new Scheduler();
  const random = new Random(1);
  return { scheduler, random, machine: new Machine('a', 1.01, scheduler, random, true) };
}

describe('virtual time', () => {
  it('brings all promises and ticks of one task to their end before the next task begins', async () => {
    const { scheduler, machine } = setting();
    const seen: string[] = [];
    const chain = async () => {
      for (let link = 0; link < 50; link++) {
        await Promise.resolve();
        await new Promise<void>((resolve) => process.nextTick(resolve));
      }
      seen.push('the chain of the first');
    };
    machine.after(10, () => void chain());
    machine.after(10, () => seen.push('the second'));
    await run(scheduler, 100);
    expect(seen).toEqual(['the chain of the first', 'the second']);
  });

  it('passes at the rate of each clock', async () => {
    const { scheduler, machine } = setting();
    const beganAt = machine.now();
    let rangAt = 0;
    machine.after(1010, () => {
      rangAt = scheduler.now;
    });
    await run(scheduler, 2000);
    expect(rangAt).toBeCloseTo(1000);
    expect(machine.now() - beganAt).toBeCloseTo(2020);
  });
});

describe('a frozen machine', () => {
  it('does nothing while its clock goes on, and then all that was due, in its order', async () => {
    const { scheduler, machine } = setting();
    const seen: number[] = [];
    const beganAt = machine.now();
    machine.freeze();
    for (const number of [1, 2, 3]) scheduler.after(number, () => machine.receive(() => seen.push(number)));
    await run(scheduler, 1000);
    expect(seen).toEqual([]);
    expect(machine.now() - beganAt).toBeCloseTo(1010);
    machine.thaw();
    await run(scheduler, 1);
    expect(seen).toEqual([1, 2, 3]);
  });

  it('does nothing any more once it is killed, and has no timers left', async () => {
    const { scheduler, machine } = setting();
    machine.after(5, () => expect.unreachable());
    machine.freeze();
    await run(scheduler, 10);
    machine.kill();
    machine.thaw();
    machine.after(5, () => expect.unreachable());
    machine.kill();
    await run(scheduler, 10);
    expect(machine.timers).toBe(0);
  });
});

describe('an interruption', () => {
  it('comes once, right before or right after the thing that it was ordered for, and ahead of what follows from that', async () => {
    const { scheduler, machine } = setting();
    const orders = new Set<string>();
    for (let round = 0; round < 20; round++) {
      const seen: string[] = [];
      machine.interruptAfter(2, () => seen.push('stop'));
      for (const name of ['a', 'b', 'c'])
        machine.after(10, () => {
          seen.push(name);
          queueMicrotask(() => seen.push(`after ${name}`));
        });
      await run(scheduler, 20);
      orders.add(seen.join(', '));
    }
    expect([...orders].sort()).toEqual([
      'a, after a, b, stop, after b, c, after c',
      'a, after a, stop, b, after b, c, after c',
    ]);
  });

  it('can be taken back', async () => {
    const { scheduler, machine } = setting();
    machine.interruptAfter(1, () => expect.unreachable());
    machine.goOn();
    machine.after(10, () => undefined);
    await run(scheduler, 20);
  });
});

it('an ensemble loses its data, or goes back to an earlier state, and begins from there', async () => {
  const { scheduler, random } = setting();
  const witness = { count: () => undefined, applied: () => undefined, shown: () => undefined };
  const ensemble = new Ensemble({ tickMs: 1000, syncLimit: 5 }, scheduler, random, witness);
  const zxids = () => new Set(ensemble.servers.map(({ replica }) => replica.zxid));
  const serve = async (writes: number) => {
    for (const server of ensemble.servers) server.restart();
    await run(scheduler, 5000);
    for (let count = 0; count < writes; count++) ensemble.leader?.deleteAsOperator('/none');
    await run(scheduler, 5000);
  };
  await serve(10);
  expect(zxids()).toEqual(new Set([firstZxid(1) + 10n]));
  ensemble.loseData(0.3);
  expect(zxids()).toEqual(new Set([firstZxid(1) + 3n]));
  await serve(1);
  expect(zxids()).toEqual(new Set([firstZxid(2) + 1n]));
  ensemble.loseData(0);
  expect(zxids()).toEqual(new Set([0n]));
  await serve(1);
  expect(zxids()).toEqual(new Set([firstZxid(1) + 1n]));
});

describe('a link', () => {
  it('keeps the order within a connection, and not that between two', async () => {
    const { scheduler, random } = setting();
    const link = new Link(scheduler, random);
    const [one, two] = [new Pipe(link), new Pipe(link)];
    const seen: string[] = [];
    for (let number = 10; number < 60; number++) {
      one.send(() => seen.push(`one ${number}`));
      two.send(() => seen.push(`two ${number}`));
    }
    await run(scheduler, 5000);
    const ofOne = seen.filter((each) => each.startsWith('one'));
    expect(ofOne).toHaveLength(50);
    expect(ofOne).toEqual([...ofOne].sort());
    const inTurns = Array.from({ length: 50 }, (_, place) => [
      `one ${place + 10}`,
      `two ${place + 10}`,
    ]).flat();
    expect(seen).not.toEqual(inTurns);
  });

  it('holds back what is sent while it is cut, and brings it when it is whole again', async () => {
    const { scheduler, random } = setting();
    const link = new Link(scheduler, random);
    const pipe = new Pipe(link);
    let arrivals = 0;
    link.cut();
    pipe.send(() => arrivals++);
    await run(scheduler, 60_000);
    expect(arrivals).toBe(0);
    link.heal();
    await run(scheduler, 3000);
    expect(arrivals).toBe(1);
  });

  it('brings nothing more over a connection that was forgotten in between', async () => {
    const { scheduler, random } = setting();
    const link = new Link(scheduler, random);
    const [forgotten, other] = [new Pipe(link), new Pipe(link)];
    let arrivals = 0;
    forgotten.isSevered = true;
    forgotten.send(() => expect.unreachable());
    other.send(() => arrivals++);
    await run(scheduler, 3000);
    expect(arrivals).toBe(1);
  });
});
