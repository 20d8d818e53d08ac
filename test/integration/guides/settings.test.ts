import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { execa, execaNode } from 'execa';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parseAllDocuments } from 'yaml';
import packageJson from '../../../package.json' with { type: 'json' };
import { healthHandler } from '../../../src/cluster/supervisor/health-handler.js';
import { runs } from '../../../tools/environment.mjs';
import { GUIDES } from '../../support/conclave/running-guide.js';
import { temporaryFolder } from '../../support/temporary-folder.js';

const ROOT = join(GUIDES, '../..');
const read = (file: string) => readFileSync(join(GUIDES, file), 'utf8');
// biome-ignore lint/suspicious/noExplicitAny: manifests are read by their paths
const manifests = (file: string): any[] =>
  parseAllDocuments(read(file), { strict: true }).map((each) => each.toJS());
const service = read('service/service.mjs');
const deadlineMs = Number(/deadlineMs: ([\d_]+)/.exec(service)?.[1]?.replaceAll('_', ''));

describe('the settings of the guides', () => {
  it('have a deadline to be compared with', () => {
    expect(deadlineMs).toBe(20_000);
  });

  it('Kubernetes: more time to stop than preStop and the shutdown take, and probes that the service answers', async () => {
    const [{ spec }] = manifests('kubernetes/deployment.yaml');
    const pod = spec.template.spec;
    const [container] = pod.containers;
    expect(spec.template.metadata.labels).toMatchObject(spec.selector.matchLabels);
    const [sleep, seconds] = container.lifecycle.preStop.exec.command;
    expect(sleep).toBe('sleep');
    expect(pod.terminationGracePeriodSeconds * 1000).toBeGreaterThan(Number(seconds) * 1000 + deadlineMs);
    const { livenessProbe, readinessProbe, ports } = container;
    expect([livenessProbe.httpGet.path, readinessProbe.httpGet.path]).toEqual(['/livez', '/readyz']);
    expect(service).toContain("'/livez'");
    const health = () => ({ live: true, ready: true, reasons: [] });
    const answer = healthHandler({ id: 'a', health });
    for (const { httpGet } of [livenessProbe, readinessProbe])
      expect((await answer(new Request(`http://localhost${httpGet.path}`))).status).toBe(200);
    for (const { httpGet } of [livenessProbe, readinessProbe]) expect(httpGet.port).toBe(ports[0].name);
    expect(service).toContain(`process.env.PORT ?? ${ports[0].containerPort}`);
    // A supervisor may be wedged for one lease, which is a third of the session timeout of 6 s.
    expect(livenessProbe.failureThreshold * livenessProbe.periodSeconds).toBeGreaterThan(6);
  });

  it('Kubernetes: no field that Kubernetes does not have, and each of its type', async () => {
    const folder = mkdtempSync(join(ROOT, 'node_modules/.cache-guide-')); // The program finds the types from there.
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const all = ['deployment', 'zookeeper'].flatMap((name) => manifests(`kubernetes/${name}.yaml`));
    const group = ({ apiVersion }: { apiVersion: string }) =>
      apiVersion === 'v1' ? 'core/v1' : apiVersion.replace('.k8s.io', '');
    const program = all.map(
      (each, n) =>
        `import type { ${each.kind} as Kind${n} } from 'kubernetes-types/${group(each)}';\n` +
        `export const manifest${n}: Kind${n} = ${JSON.stringify(each)};\n`,
    );
    writeFileSync(join(folder, 'manifests.ts'), program.join(''));
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--ignoreConfig', 'manifests.ts'];
    const { stdout } = await execaNode(tsc, options, { cwd: folder, reject: false });
    expect(all).toHaveLength(7);
    expect(stdout).toBe('');
  });

  it('ZooKeeper: servers that are named alike by the clients and each other, and keep a quorum', () => {
    const [headless, budget, , set] = manifests('kubernetes/zookeeper.yaml');
    const [container] = set.spec.template.spec.containers;
    const names = Array.from(
      { length: set.spec.replicas },
      (_, n) => `${set.metadata.name}-${n}.${headless.metadata.name}`,
    );
    const env = Object.fromEntries(
      container.env.map(({ name, value }: { name: string; value: string }) => [name, value]),
    );
    expect(env.ZOO_SERVERS.trim().split(' ')).toEqual(
      names.map((name, n) => `server.${n + 1}=${name}:2888:3888;2181`),
    );
    const [deployment] = manifests('kubernetes/deployment.yaml');
    const [connect] = deployment.spec.template.spec.containers[0].env;
    expect(connect).toEqual({ name: 'ZOOKEEPER', value: names.map((name) => `${name}:2181`).join(',') });
    expect(set.spec.serviceName).toBe(headless.metadata.name);
    expect(headless.spec.clusterIP).toBe('None');
    expect(budget.spec.maxUnavailable).toBeLessThan(set.spec.replicas / 2);
    const labels = set.spec.template.metadata.labels;
    for (const selector of [
      headless.spec.selector,
      budget.spec.selector.matchLabels,
      set.spec.selector.matchLabels,
    ])
      expect(selector).toEqual(labels);
    const [{ metadata }] = set.spec.volumeClaimTemplates;
    for (const { name } of container.volumeMounts) expect(name).toBe(metadata.name);
  });

  it('Kubernetes: credentials from a Secret, no root, a pinned server with less heap than memory, and ports for its clients alone', () => {
    const [deployment, secret, budget] = manifests('kubernetes/deployment.yaml');
    const [, , policy, set] = manifests('kubernetes/zookeeper.yaml');
    const [service, server] = [deployment, set].map(({ spec }) => spec.template.spec.containers[0]);
    const { secretKeyRef } = service.env.find(
      ({ name }: { name: string }) => name === 'CONCLAVE_AUTH',
    ).valueFrom;
    expect(secret.metadata.name).toBe(secretKeyRef.name);
    expect(secret.stringData[secretKeyRef.key]).toMatch(/^digest:.+:.+/); // As `--auth` takes it.
    expect(read('service/service.mjs')).toContain('process.env.CONCLAVE_AUTH');
    expect(budget.spec.selector).toEqual(deployment.spec.selector);
    for (const { spec } of [deployment, set]) {
      expect(spec.template.spec.securityContext.runAsNonRoot).toBe(true);
      expect(spec.template.spec.containers[0].securityContext.allowPrivilegeEscalation).toBe(false);
    }
    expect(server.image).toMatch(/:\d+\.\d+\.\d+$/);
    const heap = server.env.find(({ name }: { name: string }) => name === 'ZK_SERVER_HEAP').value;
    expect([Number(heap) <= 512, server.resources.limits.memory]).toEqual([true, '1Gi']);
    const ports = new Set(server.ports.map(({ name }: { name: string }) => name));
    const [clients, ...others] = policy.spec.ingress;
    expect(deployment.spec.template.metadata.labels).toMatchObject(clients.from[0].podSelector.matchLabels);
    for (const rule of [clients, ...others]) for (const { port } of rule.ports) expect(ports).toContain(port);
    expect(others[0].from[0].podSelector).toEqual(policy.spec.podSelector);
  });

  it("ZooKeeper: each server's number is its Pod's, plus one", async () => {
    const set = manifests('kubernetes/zookeeper.yaml').at(-1);
    const [, , script] = set.spec.template.spec.containers[0].command;
    const printing = script.replace(/exec .*/, 'printenv ZOO_MY_ID');
    for (const [hostname, id] of [
      ['zookeeper-0', '1'],
      ['zookeeper-2', '3'],
    ])
      expect((await execa('bash', ['-c', printing], { env: { HOSTNAME: hostname } })).stdout).toBe(id);
  });

  it('Docker: conclave guard is process 1, starts node itself, and has more time to stop than the shutdown takes', () => {
    const instruction = (name: string) =>
      JSON.parse(new RegExp(`^${name} (.*)$`, 'm').exec(read('docker/Dockerfile'))?.[1] ?? '[]');
    expect([...instruction('ENTRYPOINT'), ...instruction('CMD')]).toEqual([
      `node_modules/.bin/${Object.keys(packageJson.bin)[0]}`,
      ...['guard', '--', 'node', 'service.mjs'],
    ]);
    const [{ spec }] = manifests('kubernetes/deployment.yaml'); // It would replace the ENTRYPOINT.
    expect(spec.template.spec.containers[0].command).toBeUndefined();
    const [{ services }] = manifests('docker/compose.yaml');
    const [, seconds] = /^(\d+)s$/.exec(services.scheduler.stop_grace_period) ?? [];
    expect(Number(seconds) * 1000).toBeGreaterThan(deadlineMs);
  });

  it('PM2: more time to stop than the shutdown takes, and a process that says when it is ready', () => {
    const { apps } = createRequire(import.meta.url)(join(GUIDES, 'pm2/ecosystem.config.cjs'));
    const [app] = apps;
    expect(app.kill_timeout).toBeGreaterThan(deadlineMs);
    expect(app.wait_ready).toBe(true);
    expect(service).toContain("process.send?.('ready')");
  });

  it('systemd: more time to stop than the shutdown takes, and SIGTERM to the main process alone', () => {
    const unit = read('systemd/scheduler.service');
    const setting = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(unit)?.[1];
    expect(Number(setting('TimeoutStopSec')) * 1000).toBeGreaterThan(deadlineMs);
    expect(setting('KillMode')).toBe('mixed');
  });

  it.skipIf(!runs('systemd-analyze', '--version'))('systemd finds no fault in the unit', async () => {
    const file = join(temporaryFolder(), 'scheduler.service');
    // The unit file names a program and a folder of another machine.
    const here = read('systemd/scheduler.service')
      .replaceAll('/usr/bin/node', process.execPath)
      .replaceAll('/srv/scheduler/node_modules/.bin/conclave', join(ROOT, packageJson.bin.conclave))
      .replaceAll('/srv/scheduler', join(GUIDES, 'service'));
    writeFileSync(file, here);
    const { all, exitCode } = await execa('systemd-analyze', ['verify', '--man=no', file], {
      all: true,
      reject: false,
    });
    expect(all).not.toContain('scheduler.service');
    expect(exitCode, all).toBe(0);
  });

  it('the cluster: the primary waits longer for a worker than its shutdown may take', () => {
    const program = read('node-cluster/main.mjs');
    const ms = (name: string) =>
      Number(new RegExp(`${name}: ([\\d_]+)`).exec(program)?.[1]?.replaceAll('_', ''));
    expect(ms('stopTimeoutMs')).toBeGreaterThan(ms('deadlineMs'));
  });
});
