/**
 * Finds the clients in other languages that share queues with Conclave in `test/interop`, and those that `bench` measures,
 * and says how their programs are started.
 *
 * Where they come from, in this order: `CURATOR_CLASS_PATH`, `KAZOO_PYTHON` and `GO_ZOOKEEPER_GOPATH` in the environment;
 * Debian's packages; else `apt-get install`, as root.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { installDebianPackages } from '../debian/packages.mjs';
import { fromEnvironment, runs } from '../environment.mjs';

// Its manifest names whatever else it needs, but for something that logs.
const DEBIAN_CURATOR = '/usr/share/java/curator-recipes.jar';
const DEBIAN_QUIET_LOG = '/usr/share/java/slf4j-nop.jar';
// Debian's own: its packages aren't seen by another Python, which may come first on the path.
const DEBIAN_PYTHON = '/usr/bin/python3';
const DEBIAN_GOPATH = '/usr/share/gocode';
const GO_ZOOKEEPER = 'src/github.com/samuel/go-zookeeper/zk';

/**
 * What starts a Java program from its source: Curator needs no more than its jars, and a JDK compiles at the start.
 *
 * @returns {string[]} a command, to be followed by the program's path and its arguments
 */
export function findCurator() {
  return ['java', '-Xmx256m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-cp', findCuratorClassPath()];
}

/** What a Java program that uses Curator is compiled and run with; `javac` and `java` are on the path then. */
export function findCuratorClassPath() {
  const given = fromEnvironment('CURATOR_CLASS_PATH');
  if (
    given === undefined &&
    !(existsSync(DEBIAN_CURATOR) && existsSync(DEBIAN_QUIET_LOG) && runs('javac', '-version'))
  ) {
    installDebianPackages(
      'Curator',
      ['libcurator-recipes-java', 'libslf4j-java', 'default-jdk-headless'],
      ['CURATOR_CLASS_PATH=/path/to/curator-recipes.jar:… (and a JDK, 17 or later, on the PATH)'],
    );
  }
  return given ?? `${DEBIAN_CURATOR}:${DEBIAN_QUIET_LOG}`;
}

/**
 * What starts a Python program that imports kazoo.
 *
 * @returns {string[]} a command, to be followed by the program's path and its arguments
 */
export function findKazoo() {
  const given = fromEnvironment('KAZOO_PYTHON');
  if (given === undefined && !runs(DEBIAN_PYTHON, '-c', 'import kazoo')) {
    installDebianPackages(
      'kazoo',
      ['python3-kazoo'],
      ['KAZOO_PYTHON=/path/to/a/python3 that can import kazoo'],
    );
  }
  return [given ?? DEBIAN_PYTHON];
}

/**
 * What compiles a Go program that imports go-zookeeper, which Debian has as sources in a GOPATH.
 *
 * @returns {string[]} a command, to be followed by what the `go` tool is to do
 */
export function findGo() {
  const goPath = fromEnvironment('GO_ZOOKEEPER_GOPATH') ?? DEBIAN_GOPATH;
  if (!existsSync(join(goPath, GO_ZOOKEEPER)) || !runs('go', 'version')) {
    installDebianPackages(
      'go-zookeeper',
      ['golang-github-samuel-go-zookeeper-dev', 'golang-go'],
      [`GO_ZOOKEEPER_GOPATH=/path/to/a/GOPATH with ${GO_ZOOKEEPER} (and go on the PATH)`],
    );
  }
  return ['env', 'GO111MODULE=off', `GOPATH=${goPath}`, 'go'];
}
