/**
 * Finds the ZooKeeper installation for the servers: the folder of a distribution that `ZOOKEEPER_HOME` names, or else Debian's jar.
 * If the jar is missing, installs it as root with `apt-get install zookeeper`.
 */
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { installDebianPackages } from '../debian/packages.mjs';
import { fromEnvironment, runs } from '../environment.mjs';

const DEBIAN_JAR = '/usr/share/java/zookeeper.jar';
// Jars that are missing from the manifest of the server's jar: a logger, and the jars that Netty needs to serve TLS.
const DEBIAN_EXTRAS = ['slf4j-simple', 'netty-codec', 'netty-resolver', 'netty-transport-native-unix-common'];
const DEBIAN_PACKAGES = ['zookeeper', 'default-jre-headless', 'libslf4j-java', 'libnetty-java'];
const OTHER_WAYS = [
  'ZOOKEEPER_HOME=/path/to/apache-zookeeper-3.x.y-bin (and java on the PATH)',
  'ZOOKEEPER=host:port,host:port to use servers that run already',
  'with Docker: docker compose up -d --wait, then ZOOKEEPER=127.0.0.1:2181,127.0.0.1:2182,127.0.0.1:2183',
];

/** The class path of a ZooKeeper distribution. Installs Debian's package if there is none. */
export async function findClassPath() {
  const home = fromEnvironment('ZOOKEEPER_HOME');
  if (home !== undefined) return classPathOfDistribution(home);
  if (!existsSync(DEBIAN_JAR) || !runs('java', '-version'))
    installDebianPackages('ZooKeeper', DEBIAN_PACKAGES, OTHER_WAYS);
  return [DEBIAN_JAR, ...DEBIAN_EXTRAS.map((name) => `/usr/share/java/${name}.jar`)].join(':');
}

/** @param {string} home */
async function classPathOfDistribution(home) {
  const jars = await readdir(join(home, 'lib')).catch(() => /** @type {string[]} */ ([]));
  const usable = jars.filter((name) => name.endsWith('.jar'));
  if (!usable.some((name) => name.startsWith('zookeeper-'))) {
    throw new Error(
      `ZOOKEEPER_HOME is ${home}: expected a ZooKeeper distribution, with its jars in ${join(home, 'lib')}`,
    );
  }
  return usable.map((name) => join(home, 'lib', name)).join(':');
}

/** The version of the installation, such as `3.8.0`, read from the name of its jar. */
export async function installedVersion() {
  const [jar = ''] = (await findClassPath())
    .split(':')
    .filter((path) => /\/zookeeper(-\d[^/]*)?\.jar$/.test(path));
  const names = await readdir(dirname(jar)); // Debian's jar has no version in its name, but a link beside it has.
  const version = names.map((name) => /^zookeeper-(\d+\.\d+\.\d+)[^/]*\.jar$/.exec(name)?.[1]).find(Boolean);
  if (version === undefined)
    throw new Error(`${jar}: no jar beside it has this ZooKeeper's version in its name`);
  return version;
}
