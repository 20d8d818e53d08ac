import { describe, expect, it } from 'vitest';
import { isAsLocked, isInstalled } from './installed.mjs';

const LOCKED = {
  '': { dependencies: { pino: '^1.0.0' }, devDependencies: { rolldown: '^1.0.0' } },
  'tools/dependencies/docs': { version: '0.0.0', dependencies: { vitepress: '^1.0.0', rolldown: '^2.0.0' } },
  'node_modules/pino': { version: '1.0.0' },
  'node_modules/rolldown': { version: '1.0.0' },
  'node_modules/vitepress': { version: '1.0.0' },
  'tools/dependencies/docs/node_modules/rolldown': { version: '2.0.0' },
};
const BASE = { 'node_modules/pino': { version: '1.0.0' }, 'node_modules/rolldown': { version: '1.0.0' } };

describe('what is installed', () => {
  it('is as locked while sets are missing', () => {
    expect(isAsLocked(LOCKED, BASE)).toBe(true);
  });

  it("isn't as locked after an update of the lockfile", () => {
    expect(isAsLocked(LOCKED, { ...BASE, 'node_modules/pino': { version: '0.9.0' } })).toBe(false);
    expect(isAsLocked(LOCKED, { ...BASE, 'node_modules/removed': { version: '1.0.0' } })).toBe(false);
  });

  it('has all that the project needs, or not', () => {
    expect(isInstalled(LOCKED, BASE, '')).toBe(true);
    expect(isInstalled(LOCKED, { 'node_modules/pino': { version: '1.0.0' } }, '')).toBe(false);
  });

  it("has a set only with the versions that are the set's own", () => {
    const almost = { ...BASE, 'node_modules/vitepress': { version: '1.0.0' } };
    expect(isInstalled(LOCKED, almost, 'tools/dependencies/docs')).toBe(false);
    const complete = { ...almost, 'tools/dependencies/docs/node_modules/rolldown': { version: '2.0.0' } };
    expect(isInstalled(LOCKED, complete, 'tools/dependencies/docs')).toBe(true);
  });
});
