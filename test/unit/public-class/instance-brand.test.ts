import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as conclave from '../../../src/index.js';
import { nameOf } from '../../../src/public-class/instance-brand.js';
import { VERSION } from '../../../src/public-class/version.js';

const errors = Object.entries(conclave).filter(([name]) => name.endsWith('Error')) as [
  string,
  new (...args: unknown[]) => Error,
][];

describe('what copies of the library in one process know of each other', () => {
  it('is the version that package.json names', () => {
    const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8'));
    expect(VERSION).toBe(version);
  });

  it('is the name of every class that is public', () => {
    const classes = Object.entries(conclave).filter(([name]) => /^[A-Z]/.test(name));
    expect(classes.length).toBeGreaterThan(35);
    for (const [name, type] of classes) {
      expect(Object.hasOwn(type.prototype, Symbol.for('conclave.class')), name).toBe(true);
      expect(nameOf(type.prototype)?.split(' ').at(1)).toBe(name);
    }
  });

  it('leaves every error an instance of its own classes only', () => {
    for (const [name, type] of errors) {
      const error = Object.create(type.prototype);
      const expected = errors.filter(([, other]) => type === other || type.prototype instanceof other);
      expect(
        errors.filter(([, other]) => error instanceof other),
        name,
      ).toEqual(expected);
    }
    class OwnError extends conclave.NoNodeError {}
    const own = new OwnError(-101, 'NO_NODE', 'getData');
    expect(own instanceof OwnError && own instanceof conclave.NoNodeError).toBe(true);
    expect(new conclave.NoNodeError(-101, 'NO_NODE', 'getData') instanceof OwnError).toBe(false);
    for (const value of [undefined, null, 1, 'x', {}, Object.create(null), new Error('x'), () => 1])
      expect(value instanceof conclave.ConclaveError).toBe(false);
  });
});
