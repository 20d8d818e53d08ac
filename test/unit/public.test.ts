import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as conclave from '../../src/index.js';

const readme = readFileSync(join(import.meta.dirname, '../../README.md'), 'utf8');

const errorClasses = Object.entries(conclave)
  .filter(([, value]) => Object.prototype.isPrototypeOf.call(Error, value))
  .map(([name]) => name);

describe('what is public', () => {
  it('is what the README speaks of, and every error of it has its row there', () => {
    const classes = Object.keys(conclave).filter((name) => !errorClasses.includes(name));
    expect(classes.sort()).toEqual([
      'DistributedLock',
      'ElectionObserver',
      'ElectionSupervisor',
      'LeaderElector',
      'MultiLock',
      'ReadWriteLock',
      'Semaphore',
      'Session',
      'revokeLeader',
    ]);
    expect(errorClasses.length).toBeGreaterThan(20);
    for (const name of [...classes, ...errorClasses]) expect(readme).toContain(`\`${name}`);
  });

  it('has errors that show what was wrong, whatever that is, and never at length', () => {
    const shown = (value: unknown) => new conclave.InvalidOptionError('x', value, 'something else').message;
    expect(shown('a')).toBe('x is "a": expected something else');
    expect(shown(null)).toContain('null');
    expect(shown(7n)).toContain('7n');
    expect(shown(() => 1)).toContain('a function');
    const cyclic: { self?: unknown } = {};
    cyclic.self = cyclic;
    expect(shown(cyclic)).toContain('can not be shown');
    expect(shown('y'.repeat(10_000)).length).toBeLessThan(300);
  });
});
