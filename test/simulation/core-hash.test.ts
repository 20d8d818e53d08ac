import { expect, it } from 'vitest';
import { coreHash, coreModules } from './core-hash.js';

const PROGRAM = 'test/simulation/run.js';
const MODULES = {
  [PROGRAM]: `import { World } from './world.js';\nimport '../../src/jobs/jobs.js';`,
  'test/simulation/world.js': `export * from '../../src/election/elector.js';
import { ElectionObserver, } from '../../src/election/observer/election-observer.js';`,
  'src/election/elector.js': `import {
    sleep,
} from '../platform/time/clock.js';
import { log } from '../metrics/log.js';
import './elector-options.js';
import '../platform/logging/logger.js';`,
  'src/election/elector-options.js': '',
  'src/platform/logging/logger.js': '',
  'src/election/observer/election-observer.js': `import '../../platform/queue.js';`,
  'src/jobs/jobs.js': `import { Owner } from '../shards/ownership/owner.js';`,
  'src/shards/ownership/owner.js': `const { x } = await import('../../platform/lazy.js');`,
  'src/platform/time/clock.js': `import './timers.js';`,
  'src/platform/time/timers.js': `import { hash } from 'node:crypto';`,
  'src/platform/queue.js': '',
  'src/platform/lazy.js': '',
  'src/metrics/log.js': '',
};

const reading =
  (modules: Readonly<Record<string, string>>) =>
  (path: string): string => {
    const source = modules[path];
    if (source === undefined) throw new Error(`${path} isn't imported`);
    return source;
  };

it('is about what decides who leads, what that imports of the platform, and the simulated world, without options and logs', () => {
  expect(coreModules(PROGRAM, reading(MODULES))).toEqual([
    'src/election/elector.js',
    'src/platform/lazy.js',
    'src/platform/time/clock.js',
    'src/platform/time/timers.js',
    'src/shards/ownership/owner.js',
    PROGRAM,
    'test/simulation/world.js',
  ]);
});

it('changes with each of these, and with nothing else', () => {
  const hashWith = (path: string) => coreHash(PROGRAM, reading({ ...MODULES, [path]: '' }));
  const hash = coreHash(PROGRAM, reading(MODULES));
  expect(coreHash(PROGRAM, reading({ ...MODULES, 'src/platform/lazy.js': 'x' }))).not.toBe(hash);
  expect(hashWith('src/platform/time/timers.js')).not.toBe(hash);
  expect(hashWith('src/election/observer/election-observer.js')).toBe(hash);
  expect(coreHash(PROGRAM, reading({ ...MODULES, 'src/metrics/log.js': 'x' }))).toBe(hash);
});
