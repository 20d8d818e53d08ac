import { checkPathOfNode, checkPathToCreate } from '../platform/checks.js';
import { decodePath } from './protocol/requests.js';

/** The servers' own node with their list. It is the same one below any chroot. No other path of the servers' own is given to callers. */
const SERVERS_PATH = '/zookeeper/config';

/** The path below which all paths of a session are. Callers never see it: their paths are relative to it. */
export class Chroot {
  /** @param root - the path without a slash at its end; `''` for none */
  constructor(readonly root: string) {}

  /** The path as the servers know it. It may have names that servers have listed. @throws InvalidOptionError if it isn't a path */
  absolute(path: string): string {
    return this.below(path === '/' ? path : checkPathOfNode('path', path));
  }

  /** As {@link absolute}. @throws InvalidOptionError also if ZooKeeper accepts no such path */
  absoluteToCreate(path: string): string {
    return this.below(path === '/' ? path : checkPathToCreate('path', path));
  }

  /** As {@link absolute}, for a path that was checked. */
  below(path: string): string {
    if (path === SERVERS_PATH) return path;
    return path === '/' ? this.root || path : this.root + path;
  }

  /** As {@link absolute}, also for the servers' own node, which clients may only read. */
  absoluteToRead(path: string): string {
    return path === SERVERS_PATH ? path : this.absolute(path);
  }

  readonly relative = (absolute: string): string => absolute.slice(this.root.length);

  /** Reads the relative path of a created node. All requests share this function, since each keeps it until its answer comes. */
  readonly decodePath = (body: Buffer): string => this.relative(decodePath(body));

  /** The nodes of the chroot, from the top. */
  nodes(): string[] {
    const parts = this.root.split('/');
    return parts.slice(1).map((_, index) => parts.slice(0, index + 2).join('/'));
  }
}
