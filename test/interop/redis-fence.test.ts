import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { FencedOutError } from '../../src/errors.js';
import { type RedisClient, RedisFence } from '../../src/fence/redis-fence.js';
import { withTerm } from '../../src/lease/current-term.js';
import { useRedis } from '../../tools/redis/server.mjs';
import { lead } from '../support/conclave/electors.js';
import { openSession, uniquePath } from '../support/conclave/sessions.js';

const [FORMER, NEWER] = [{ token: 2n ** 62n }, { token: 2n ** 62n + 1n }];

let server: Awaited<ReturnType<typeof useRedis>>;
let redis: Redis;

beforeAll(async () => {
  server = await useRedis();
  redis = new Redis(server.url);
});

afterAll(async () => {
  redis?.disconnect();
  await server?.stop();
});

const CLIENTS: Record<string, () => Promise<RedisClient> | RedisClient> = {
  ioredis: () => redis,
  redis: async () => {
    const client = createClient({ url: server.url });
    await client.connect();
    onTestFinished(() => client.close());
    return client as unknown as RedisClient;
  },
  'a function': () => (command) => redis.call(...(command as [string, ...string[]])),
};

describe.each(Object.keys(CLIENTS))('a fence in Redis with %s', (name) => {
  const start = async () => {
    const id = randomUUID();
    const client = await (CLIENTS[name] as (typeof CLIENTS)[string])();
    return { id, fence: new RedisFence(client, `fence:${id}`) };
  };

  it('carries out the commands of the newest leader, and none of a former one', async () => {
    const { id, fence } = await start();
    const commands = [
      ['set', id, 'a b'],
      ['get', id],
      ['get', `${id}:none`],
      ['incrby', `${id}:n`, 7],
    ] as const;
    expect(await fence.run(commands, FORMER)).toEqual(['OK', 'a b', null, 7]);
    await fence.enter(NEWER);
    const late = fence.run([['set', id, 'late']], FORMER);
    await expect(late).rejects.toMatchObject({ code: 'FENCED_OUT', token: FORMER.token });
    await expect(fence.enter(FORMER)).rejects.toBeInstanceOf(FencedOutError);
    expect(await redis.get(id)).toBe('a b');
    expect(await fence.run([['set', id, 'newer']], NEWER, [id])).toEqual(['OK']);
    expect(await redis.get(id)).toBe('newer');
  });

  it('is raised before the commands: a failed command leaves those before it, and no later leader’s fence', async () => {
    const { id, fence } = await start();
    const broken = fence.run(
      [
        ['set', id, '1'],
        ['lpush', id, '2'],
        ['set', id, '3'],
      ],
      NEWER,
    );
    await expect(broken).rejects.toThrow('WRONGTYPE');
    expect(await redis.get(id)).toBe('1');
    await expect(fence.enter(FORMER)).rejects.toBeInstanceOf(FencedOutError);
  });

  it('orders tokens as numbers, and takes bytes as they are', async () => {
    const { id, fence } = await start();
    for (const token of [9n, 10n, 99n, 2n ** 53n, 2n ** 53n + 1n]) await fence.enter({ token });
    await expect(fence.enter({ token: 2n ** 53n })).rejects.toBeInstanceOf(FencedOutError);
    const bytes = Buffer.from([0, 255, 10, 13]);
    await fence.run([['set', id, bytes]], NEWER);
    expect(await redis.getBuffer(id)).toEqual(bytes);
  });

  it('is that of the current term, without a holder', async () => {
    const { id, fence } = await start();
    const [elector, term] = await lead(await openSession(), uniquePath());
    expect(await withTerm(term, () => fence.run([['set', id, '1']]))).toEqual(['OK']);
    expect(await redis.get(`fence:${id}`)).toBe(String(term.token).padStart(20, '0'));
    await elector.stop();
  });
});

describe('a fence in Redis', () => {
  it('wrote other keys than the application read, with the keyPrefix of ioredis', async () => {
    const prefixed = redis.duplicate({ keyPrefix: 'app:' });
    onTestFinished(() => prefixed.disconnect());
    expect(() => new RedisFence(prefixed, 'fence')).toThrow(
      'client.options.keyPrefix is "app:": expected none',
    );
    const cluster = { call: () => Promise.resolve(), options: { keyPrefix: 'app:', redisOptions: {} } };
    expect(() => new RedisFence(cluster, 'fence')).toThrow('keyPrefix');
    const id = randomUUID();
    await new RedisFence(prefixed.duplicate({ keyPrefix: '' }), `app:fence:${id}`).run(
      [['set', `app:${id}`, '42']],
      NEWER,
    );
    expect(await prefixed.get(id)).toBe('42');
  });

  it('carried out the commands before one that was too long for Lua', async () => {
    const id = randomUUID();
    const fence = new RedisFence(redis, `fence:${id}`);
    const del = (words: number) =>
      ['del', ...Array.from({ length: words - 1 }, (_, n) => `${id}:${n}`)] as const;
    const run = (words: number) => fence.run([['set', id, String(words)], del(words)], NEWER);
    await expect(run(7001)).rejects.toThrow('del with 7001 words');
    expect(await redis.get(id)).toBeNull();
    expect(await run(7000)).toEqual(['OK', 0]);
  });

  it('rose to the term of another election, whose work came through a queue that both share', async () => {
    const session = await openSession();
    const [one, term] = await lead(session, uniquePath());
    const [other, otherTerm] = await lead(session, uniquePath());
    const fence = new RedisFence(redis, `fence:${randomUUID()}`);
    await withTerm(term, () => fence.enter());
    await expect(withTerm(otherTerm, () => fence.enter())).rejects.toThrow('AsyncResource.bind()');
    await withTerm(term, () => fence.enter());
    await one.stop();
    await other.stop();
  });
});
