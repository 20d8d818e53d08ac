import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { freePort } from './ports.mjs';

const run = promisify(execFile);
const PROGRAM = `
  const { freePort } = await import(process.argv[1]);
  const ports = [];
  for (let count = 0; count < 50; count++) ports.push(await freePort());
  console.log(JSON.stringify(ports));
`;

it('returns no port twice, though nobody listens on any, in this process and in others', async () => {
  const module = new URL('./ports.mjs', import.meta.url).href;
  const own: number[] = [];
  // More than a process gets at first.
  for (let count = 0; count < 600; count++) own.push(await freePort());
  const others = await Promise.all(
    [1, 2, 3].map(async () => {
      const { stdout } = await run(process.execPath, ['--input-type=module', '-e', PROGRAM, module]);
      return JSON.parse(stdout) as number[];
    }),
  );
  expect(new Set(own).size).toBe(600);
  expect(own.every((port) => port >= 15_000 && port < 32_000)).toBe(true);
  for (const ports of others) expect(ports.filter((port) => own.includes(port))).toEqual([]);
});
