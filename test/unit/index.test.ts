import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DASHBOARD_OPTIONS } from '../../src/dashboard/dashboard-options.js';
import * as dashboard from '../../src/dashboard/index.js';
import * as fence from '../../src/fence/index.js';
import * as heldTermEntry from '../../src/held-term/index.js';
import * as conclave from '../../src/index.js';
import * as jobs from '../../src/jobs/index.js';
import * as kerberos from '../../src/kerberos/index.js';
import * as metrics from '../../src/metrics/index.js';
import * as nestjs from '../../src/nestjs/index.js';
import { EmbeddedSession } from '../../src/testing/controls/embedded-session.js';
import * as testing from '../../src/testing/index.js';

const read = (path: string) => readFileSync(join(import.meta.dirname, '../..', path), 'utf8');
const api = read('docs/reference/api.md');
const [, errors = ''] = read('docs/reference/states-events-errors.md').split(/^## Errors$/m);

const errorClasses = Object.entries(conclave)
  .filter(([, value]) => Object.prototype.isPrototypeOf.call(Error, value))
  .map(([name]) => name);

describe('what is public', () => {
  it('is what the page about the API speaks of, and every error has its row on the page about errors', () => {
    const classes = Object.keys(conclave).filter((name) => !errorClasses.includes(name));
    expect(classes.sort()).toEqual([
      'ClusterSupervisor',
      'DistributedLock',
      'ElectionObserver',
      'ElectionSupervisor',
      'LeaderElector',
      'MultiLock',
      'ReadWriteLock',
      'Semaphore',
      'Session',
      'SessionGuardian',
      'ShardObserver',
      'ShardSupervisor',
      'currentTerm',
      'healthHandler',
      'plan',
      'registerWithGuardian',
      'revokeLeader',
      'shardOf',
      'superviseCluster',
      'withTerm',
    ]);
    expect(errorClasses.length).toBeGreaterThan(20);
    for (const name of classes) expect(api).toContain(`\`${name}`);
    for (const name of errorClasses) expect(errors).toContain(`\`${name}\``);
  });

  it.each([
    ['jobs', 'LeaderJobs', jobs],
    ['metrics', 'metrics', metrics],
    ['kerberos', 'kerberos', kerberos],
  ])('is, of conclave/%s, spoken of there too', (entry, name, exported) => {
    expect(Object.keys(exported)).toEqual([name]);
    expect(api).toContain(`import { ${name} } from 'conclave/${entry}';`);
  });

  it('is, of conclave/fence, spoken of there too', () => {
    expect(Object.keys(fence).sort()).toEqual(['FencedOutError', 'PostgresFence', 'RedisFence']);
    expect(conclave.FencedOutError).toBe(fence.FencedOutError);
    expect(api).toContain("import { PostgresFence } from 'conclave/fence';");
  });

  it('is, of conclave/nestjs, on the page about web frameworks', () => {
    const page = read('docs/guides/web-frameworks.md');
    for (const name of Object.keys(nestjs)) expect(page).toContain(name);
    expect(api).toContain("import { ConclaveModule } from 'conclave/nestjs';");
  });

  it('is, of conclave/held-term, spoken of there too, with errors that are those of conclave', () => {
    const { heldTerm, ...errorsOfTerms } = heldTermEntry;
    expect(heldTerm).toBeTypeOf('function');
    expect(conclave).toMatchObject(errorsOfTerms);
    expect(api).toContain("import { heldTerm } from 'conclave/held-term';");
  });

  it('is, of conclave/dashboard, on the page about it', () => {
    const page = read('docs/operations/dashboard.md');
    for (const name of [...Object.keys(dashboard), ...DASHBOARD_OPTIONS]) expect(page).toContain(name);
    expect(api).toContain('operations/dashboard.md');
  });

  it('has errors that show what was wrong, whatever that is, and never at length', () => {
    const shown = (value: unknown) => new conclave.InvalidOptionError('x', value, 'something else').message;
    expect(shown('a')).toBe('x is "a": expected something else');
    expect(shown(null)).toContain('null');
    expect(shown(7n)).toContain('7n');
    expect(shown(() => 1)).toContain('a function');
    const cyclic: { self?: unknown } = {};
    cyclic.self = cyclic;
    expect(shown(cyclic)).toContain('an object with self:');
    expect(shown(['a', { b: 'c' }, [1]])).toContain('["a", an object with b, an array]');
    expect(shown(new Map())).toContain('an object of the class Map:');
    const throwing = { ownKeys: () => assert.fail('no names') };
    expect(shown(new Proxy({}, throwing))).toContain("can't be shown");
    expect(shown('y'.repeat(10_000)).length).toBeLessThan(300);
  });

  it('has errors whose messages are one line, as OpenSSL’s causes are not', () => {
    const alert = new Error('0A000410:SSL routines:ssl3_read_bytes:alert handshake failure\n');
    const { message } = new conclave.NoServerError('zk1:2281', 0, alert);
    expect(message).toMatch(/^no server accepted the session: .*handshake failure, from zk1:2281; .*$/);
    const lines = 'one\r\n  two\u2028three';
    for (const thrown of [lines, new Error(lines)])
      expect(new conclave.LeadError(1, thrown).message).toBe('the work of term 1 failed: one two three');
  });

  it('has errors that can be written as JSON, with their message', () => {
    const written = JSON.parse(JSON.stringify(new conclave.EnsembleResetError(16n, 7n)));
    expect(written).toMatchObject({ code: 'ENSEMBLE_RESET', seenZxid: '16', foundZxid: '7' });
    expect(written.message).toContain('but this process has already seen');
    expect(JSON.stringify(new conclave.NoNodeError(-101, 'NO_NODE', 'getData', '/a'))).toContain('"/a"');
  });
});

describe('what conclave/testing has', () => {
  const page = read('docs/guides/testing.md');
  const membersOf = ({ prototype }: { prototype: object }) =>
    Object.getOwnPropertyNames(prototype).filter((name) => name !== 'constructor');

  it('is on the page about testing: every export, and all that can be done with each', () => {
    const names = Object.keys(testing);
    expect(names.sort()).toEqual([
      'EmbeddedZooKeeper',
      'JobTester',
      'TestClock',
      'nextEvent',
      'recordEvents',
      'until',
    ]);
    const members = [testing.EmbeddedZooKeeper, EmbeddedSession, testing.TestClock].flatMap(membersOf);
    expect(members.length).toBeGreaterThan(35);
    const internal = ['watch', 'toJSON'];
    const missing = [...names, ...members].filter(
      (name) => !internal.includes(name) && !new RegExp(`\\b${name}\\b`).test(page),
    );
    expect(missing).toEqual([]);
  });

  it('is shown there by code that is run: each example stands in the example of that page', () => {
    const example = read('examples/testing-a-scheduler/scheduler.test.ts');
    // guides.test.ts compares the blocks that name a file.
    const ofThisExample = page.replaceAll(/^<!-- \S+ -->\n```.*?^```$/gms, '');
    const blocks = [...ofThisExample.matchAll(/^```[jt]s\n(.*?)^```$/gms)].map(([, code]) => code as string);
    expect(blocks.length).toBeGreaterThan(3);
    // Each block has the imports that it needs, and leaves out comments: its parts are those of the example.
    const parts = blocks.flatMap((block) => block.replaceAll(/^import .*\n/gm, '').split('\n\n'));
    for (const part of parts) expect(example).toContain(part);
  });
});
