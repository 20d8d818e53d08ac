import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readProcess } from '../../src/cluster/run-command/command-processes.js';
import { until } from '../../test/support/waiting.mjs';
import { Driver } from './driver.mjs';

const FAKE = [process.execPath, join(import.meta.dirname, 'fake-driver.mjs')];
const HARNESS = join(import.meta.dirname, 'driver.mjs');

async function start(recipe = 'lock', command = FAKE) {
  const driver = await Driver.start(command, { connect: 'here:2181', sessionMs: 5000, recipe });
  onTestFinished(async () => void (await driver.kill()));
  return driver;
}

describe("a contestant's program", () => {
  it.each(['raw', 'ready-made-packets', 'ready-made-terms'])('ends at quit: %s', async (name) => {
    const recipe = name === 'ready-made-terms' ? 'election' : 'lock';
    const args = [join(import.meta.dirname, `../peers/${name}.mjs`), 'here:2181', '5000', recipe];
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'ignore', 'inherit'] });
    onTestFinished(() => void child.kill('SIGKILL'));
    child.stdin.write('quit\n'); // The input stays open.
    expect(await once(child, 'exit')).toEqual([0, null]);
  });
});

describe("a benchmark's driver", () => {
  it('sends each command of the protocol, and reads the answer', async () => {
    const driver = await start();
    await driver.open(3);
    expect(await driver.cycle('/cycle', 3)).toEqual([1.5, 2.5, 3.5]);
    await driver.queue('/queue', 3);
    expect(await driver.hand()).toBe(42);
    await driver.leave();
    expect(await driver.quit()).toBe(0);
  });

  it('matches answers to commands in their order', async () => {
    const driver = await start();
    const answers = [driver.cycle('/cycle', 2), driver.hand(), driver.cycle('/cycle', 1), driver.leave()];
    expect(await Promise.all(answers)).toEqual([[1.5, 2.5], 42, [1.5], undefined]);
  });

  it('gives when each contender held', async () => {
    const driver = await start();
    const before = performance.now();
    await driver.stand('/stand');
    const heldAt = await driver.held();
    expect(heldAt).toBeGreaterThan(before);
    await driver.stand('/stand-1', 1);
    const nextHeldAt = await driver.held(1);
    expect(nextHeldAt).toBeGreaterThan(heldAt);
    expect(nextHeldAt).toBeLessThanOrEqual(performance.now());
    expect(await driver.held()).toBe(heldAt);
    await expect(driver.held(2)).rejects.toThrow('no contender of session 2 stands');
  });

  it("hands the recipe's options over as JSON", async () => {
    const program = "console.log('ready'); console.log('failed', ...process.argv.slice(-2))";
    const driver = await Driver.start([process.execPath, '-e', program], {
      connect: 'here:2181',
      sessionMs: 5000,
      recipe: 'election',
      options: { leaseMs: 500 },
    });
    await expect(driver.open(1)).rejects.toThrow('failed election {"leaseMs":500}');
    await driver.ended;
  });

  it('ends a program that it has frozen', async () => {
    const driver = await start();
    driver.freeze();
    expect(await driver.kill()).toBe('SIGKILL');
  });

  it('rejects all outstanding commands when one fails, with the standard error', async () => {
    const driver = await start('failing');
    const hand = driver.hand();
    const outcomes = await Promise.allSettled([hand, driver.leave(), driver.stand('/stand')]);
    for (const outcome of outcomes)
      expect(outcome).toEqual({ status: 'rejected', reason: new Error('failed NoNode\nfor this reason\n') });
    await expect(driver.open(1)).rejects.toThrow('failed NoNode');
    await driver.ended;
  });

  it('rejects all outstanding commands when its process ends', async () => {
    const driver = await start('dying');
    const hand = driver.hand();
    const outcomes = await Promise.allSettled([hand, driver.leave(), driver.stand('/stand'), driver.held()]);
    for (const outcome of outcomes)
      expect(outcome).toEqual({
        status: 'rejected',
        reason: new Error('the driver ended (3)\nout of memory\n'),
      });
    expect(await driver.ended).toBe(3);
  });

  it('rejects outstanding commands when it is killed', async () => {
    const driver = await start('silent');
    const hand = expect(driver.hand()).rejects.toThrow('the driver ended (SIGKILL)');
    expect(await driver.kill()).toBe('SIGKILL');
    await hand;
  });

  it('is killed when it prints an unexpected line', async () => {
    const driver = await start('chattering');
    await expect(driver.hand()).rejects.toThrow('something else than: log: something happened');
    expect(await driver.ended).toBe('SIGKILL');
  });

  it('reports why the program did not start', async () => {
    await expect(start('lock', ['/no/such/program'])).rejects.toThrow('ENOENT');
    await expect(
      start('lock', [process.execPath, '-e', 'throw new Error("no such recipe")']),
    ).rejects.toThrow(/the driver ended \(1\)\n[\s\S]*no such recipe/);
  });

  it('removes its listeners when no driver is left', async () => {
    const names = ['exit', 'SIGINT', 'SIGTERM', 'SIGHUP'];
    const listeners = () => names.map((name) => process.listenerCount(name));
    const before = listeners();
    const drivers = [await start(), await start()];
    expect(listeners()).toEqual(before.map((count) => count + 1));
    for (const driver of drivers) await driver.quit();
    expect(listeners()).toEqual(before);
  });

  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    it(`doesn't outlive a process that is ended by ${signal}, also while it carries out a command`, async () => {
      const program = `
        const { Driver } = await import(${JSON.stringify(HARNESS)});
        const driver = await Driver.start(${JSON.stringify([...FAKE])}, { connect: 'here:2181', sessionMs: 5000, recipe: 'silent' });
        console.log(driver.pid);
        await driver.hand();`;
      const parent = spawn(process.execPath, ['--input-type=module', '-e', program], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      onTestFinished(() => void parent.kill('SIGKILL'));
      const [line] = await once(createInterface({ input: parent.stdout }), 'line');
      const pid = Number(line);
      expect(readProcess(pid)?.isDead).toBe(false);
      parent.kill(signal);
      const [code] = await once(parent, 'exit');
      expect(code).toBe(signal === 'SIGINT' ? 130 : 143);
      await until(() => readProcess(pid)?.isDead !== false, 'its end');
    });
});
