import { writeFile } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { targetOf } from '../../../../src/cli/options/connection-options.js';
import { temporaryFolder } from '../../../support/temporary-folder.js';

const given = { connect: 'zk1', connectTimeout: 1000 };

describe('the files for TLS of a command', () => {
  it('are read again each time, and are named to other processes by their absolute paths', async () => {
    const folder = temporaryFolder();
    const [ca, cert, key] = [join(folder, 'ca'), join(folder, 'cert'), join(folder, 'key')];
    for (const file of [ca, cert, key]) await writeFile(file, 'first');
    const { session, tlsFiles } = targetOf({ ...given, ca, cert, key });
    const tls = session.tls as () => Record<string, Buffer>;
    expect(String(tls().cert)).toBe('first');
    await writeFile(cert, 'renewed');
    expect([String(tls().ca), String(tls().cert)]).toEqual(['first', 'renewed']);
    expect(Object.values(tlsFiles ?? {}).every((file) => isAbsolute(file))).toBe(true);
  });

  it('are a mistake of the user if one is missing at the start', () => {
    expect(() => targetOf({ ...given, ca: join(temporaryFolder(), 'none') })).toThrow(/^--ca: .*ENOENT/);
  });

  it('are none for plain TCP, and not needed for TLS with the authorities of the system', () => {
    expect(targetOf(given)).toMatchObject({ session: { tls: undefined }, tlsFiles: undefined });
    const { session } = targetOf({ ...given, tls: true });
    expect((session.tls as () => object)()).toEqual({ ca: undefined, cert: undefined, key: undefined });
  });
});
