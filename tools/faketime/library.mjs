/** Finds libfaketime, with which tests make the wall clock of a process jump. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { installDebianPackages } from '../debian/packages.mjs';

const DEBIAN_LIBRARIES = '/usr/lib';
// The variant for programs with threads.
const NAME = 'faketime/libfaketimeMT.so.1';

/** The library's path. Installs the library if it is missing. */
export function findFaketime() {
  const found = installed();
  if (found !== undefined) return found;
  installDebianPackages('libfaketime', ['libfaketime'], []);
  const now = installed();
  if (now === undefined) throw new Error(`apt-get has left no ${NAME} below ${DEBIAN_LIBRARIES}`);
  return now;
}

/** Looks through Debian's folders of libraries, one for each architecture. */
function installed() {
  return readdirSync(DEBIAN_LIBRARIES)
    .filter((name) => name.endsWith('-linux-gnu'))
    .map((name) => join(DEBIAN_LIBRARIES, name, NAME))
    .find((path) => existsSync(path));
}
