import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dashboard } from '../../src/dashboard/dashboard.js';
import { toNodeListener } from '../../src/dashboard/node-http.js';
import { serializeCandidate } from '../../src/election/candidates/candidate.js';
import { candidateUuid } from '../../src/election/candidates/candidate-uuid.js';
import { serializeRecord } from '../../src/election/record/election-record.js';
import { Overview } from '../../src/overview/overview.js';
import { entryPrefix } from '../../src/queue/names-and-order.js';
import type { Session } from '../../src/session/session.js';
import { follow, serve } from '../support/conclave/dashboards.js';
import { uniquePath } from '../support/conclave/sessions.js';
import { CountingServer } from '../support/servers/counting-server.js';
import { SILENT } from '../support/silent-logger.mjs';
import { onTestFinished } from '../support/vitest/test-end.js';

let server: CountingServer;
beforeAll(async () => {
  server = await CountingServer.start();
});
afterAll(() => server.stop());

/** Writes an election as electors do, but without heartbeats, so that all traffic comes from the test. */
async function makeElection(session: Session, path: string, candidates: number): Promise<string[]> {
  await session.ensurePath(path);
  const nodes: string[] = [];
  for (let each = 0; each < candidates; each++) {
    const uuid = candidateUuid(session.environment.uuid(), 0, 2000);
    const data = serializeCandidate(`candidate ${each}`, undefined);
    const { value } = await session.create(`${path}/${entryPrefix(uuid)}`, {
      mode: 'ephemeral-sequential',
      data,
    });
    nodes.push(value.slice(path.length + 1));
  }
  const node = nodes[0] as string;
  await session.setData(
    path,
    serializeRecord({ state: 'held', term: 1, id: 'candidate 0', node, leaseMs: 2000 }),
  );
  return nodes;
}

describe('on a real server, an overview', () => {
  it('costs at most one watch for each node that it shows, and ten visitors no more', async () => {
    const root = uniquePath('elections');
    const [writer, reader] = (await server.openSessions(2)) as [Session, Session];
    const shapes = [1, 1, 2, 3, 5, 20];
    for (const [at, candidates] of shapes.entries()) await makeElection(writer, `${root}/${at}`, candidates);
    const before = await server.watches();
    const handler = dashboard({ session: reader, root, logger: SILENT });
    onTestFinished(() => handler.close());
    const url = await serve(toNodeListener(handler));
    const first = await follow(`${url}api/events`);
    expect(first.states[0]?.elections).toHaveLength(shapes.length);
    const shown = 1 + shapes.length + shapes.reduce((sum, candidates) => sum + candidates, 0);
    const cost = (await server.watches()) - before;
    expect(cost).toBe(1 + 2 * shapes.length);
    expect(cost).toBeLessThanOrEqual(shown);
    await Promise.all(Array.from({ length: 9 }, () => follow(`${url}api/events`)));
    expect((await server.watches()) - before).toBe(cost);
    await handler.close();
    await reader.exists('/'); // Answered after the requests that remove the watches.
    expect(await server.watches()).toBe(before);
  });

  it('reads three hundred elections with twenty candidates each, and after a change what has changed alone', async () => {
    const root = uniquePath('elections');
    const [writer, reader] = (await server.openSessions(2)) as [Session, Session];
    const paths = Array.from({ length: 300 }, (_, at) => `${root}/${at}`);
    const nodes: string[][] = [];
    for (let from = 0; from < paths.length; from += 50)
      nodes.push(
        ...(await Promise.all(paths.slice(from, from + 50).map((path) => makeElection(writer, path, 20)))),
      );
    const overview = new Overview(reader, { root, logger: SILENT });
    onTestFinished(() => overview.stop());
    await overview.start();
    const { elections, limits } = overview.state;
    expect([elections.length, limits]).toEqual([300, undefined]);
    expect(elections.every(({ candidates, leader }) => candidates.length === 20 && leader !== null)).toBe(
      true,
    );
    const changed = new Promise<string[]>((resolve) => {
      overview.on('change', (change) => resolve((change.elections ?? []).map(({ path }) => path)));
    });
    const { requests } = await server.during([writer, reader], async () => {
      await writer.remove(`${paths[7]}/${nodes[7]?.[19]}`);
      expect(await changed).toEqual([paths[7]]);
    });
    expect(requests).toBeLessThan(6); // The deletion, the listing, one read, and the requests of the count itself.
  });
});
