import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvalidOptionError } from '../../../src/errors.js';
import { Chroot } from '../../../src/session/chroot.js';
import { WireWriter } from '../../../src/wire/jute.js';

const name = fc.stringMatching(/^[a-z][a-z0-9]{0,8}$/).filter((text) => text !== 'zookeeper');
const paths = fc
  .array(name, { minLength: 1, maxLength: 4 })
  .map((names) => names.map((each) => `/${each}`).join(''));
const roots = fc.oneof(fc.constant(''), paths);

describe('a chroot', () => {
  it('is put before a path and taken off again', () => {
    fc.assert(
      fc.property(roots, paths, (root, path) => {
        const chroot = new Chroot(root);
        expect(chroot.absolute(path)).toBe(root + path);
        expect(chroot.below(path)).toBe(root + path);
        expect(chroot.relative(chroot.absolute(path))).toBe(path);
      }),
    );
  });

  it('is itself the root that its callers see', () => {
    expect(new Chroot('/app/one').absolute('/')).toBe('/app/one');
    expect(new Chroot('').absolute('/')).toBe('/');
  });

  it('refuses what is no path', () => {
    for (const wrong of ['', 'a', '/a/', '//a', '/\ud800', '/zookeeper/config', undefined])
      expect(() => new Chroot('/app').absolute(wrong as string)).toThrow(InvalidOptionError);
  });

  it('refuses to create what ZooKeeper refuses, and takes any name that a server has listed', () => {
    const chroot = new Chroot('/app');
    for (const name of ['..', 'a\u0001', '\ue000']) {
      expect(() => chroot.absoluteToCreate(`/a/${name}`)).toThrow(InvalidOptionError);
      expect(chroot.absolute(`/a/${name}`)).toBe(`/app/a/${name}`);
    }
    const long = `/${'x'.repeat(100_000)}`;
    expect([chroot.absolute(long), chroot.absoluteToCreate(long)]).toEqual([`/app${long}`, `/app${long}`]);
  });

  it("gives the servers' own list to readers alone, and the same one below any chroot", () => {
    for (const root of ['', '/app']) {
      const chroot = new Chroot(root);
      expect(chroot.absoluteToRead('/zookeeper/config')).toBe('/zookeeper/config');
      expect(chroot.below('/zookeeper/config')).toBe('/zookeeper/config');
      expect(() => chroot.absolute('/zookeeper/config')).toThrow(InvalidOptionError);
      for (const wrong of ['/zookeeper', '/zookeeper/quota', '/zookeeper/config/a', '/zookeeper/config/'])
        expect(() => chroot.absoluteToRead(wrong)).toThrow(InvalidOptionError);
    }
  });

  it('reads the relative path of a created node', () => {
    const reply = new WireWriter().begin().string('/app/queue/n-0000000001').frame().subarray(4);
    expect(new Chroot('/app').decodePath(reply)).toBe('/queue/n-0000000001');
  });

  it('lists the nodes that it consists of, each after its parent', () => {
    expect(new Chroot('').nodes()).toEqual([]);
    expect(new Chroot('/a/b/c').nodes()).toEqual(['/a', '/a/b', '/a/b/c']);
  });
});
