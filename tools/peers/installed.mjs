/**
 * Finds the ZooKeeper clients in other languages, and the etcd server. `test/interop` runs the clients beside Conclave, and `bench`
 * compares Conclave with them. The functions return the commands that start their programs.
 *
 * Looks in this order: `CURATOR_CLASS_PATH`, `KAZOO_PYTHON`, `GO_ZOOKEEPER_GOPATH` and, for the etcd server, `ETCD` in the
 * environment; Debian's packages. If there is neither, runs `apt-get install`, as root.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { installDebianPackages } from '../debian/packages.mjs';
import { fromEnvironment, runs } from '../environment.mjs';

// The manifest of this jar names all other jars that it needs, except for a logger.
const DEBIAN_CURATOR = '/usr/share/java/curator-recipes.jar';
const DEBIAN_QUIET_LOG = '/usr/share/java/slf4j-nop.jar';
// Another Python may come first on the path. It wouldn't see Debian's packages.
const DEBIAN_PYTHON = '/usr/bin/python3';
const DEBIAN_GOPATH = '/usr/share/gocode';
const GO_ZOOKEEPER = 'src/github.com/samuel/go-zookeeper/zk';

/**
 * The command that runs a Java program with Curator from its source file. The JDK compiles the file at the start.
 *
 * @returns {string[]} a command, to which the caller adds the program's path and its arguments
 */
export function findCurator() {
  return ['java', '-Xmx256m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-cp', findCuratorClassPath()];
}

/** The class path for Java programs with Curator. If it installs Curator, it installs `javac` and `java` too. */
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
 * The command that runs a Python program with kazoo.
 *
 * @returns {string[]} a command, to which the caller adds the program's path and its arguments
 */
export function findKazoo() {
  return findPythonWith('kazoo');
}

/** The same, for a program that runs kazoo's own tests: with what they import. */
export function findKazooTests() {
  return findPythonWith('kazoo', 'pytest', 'mock', 'objgraph');
}

/** @param {string[]} modules Debian names its packages after them */
function findPythonWith(...modules) {
  const given = fromEnvironment('KAZOO_PYTHON');
  if (given === undefined && !runs(DEBIAN_PYTHON, '-c', `import ${modules.join(', ')}`)) {
    installDebianPackages(
      modules.join(', '),
      modules.map((name) => `python3-${name}`),
      [`KAZOO_PYTHON=/path/to/a/python3 that can import ${modules.join(', ')}`],
    );
  }
  return [given ?? DEBIAN_PYTHON];
}

/**
 * The command that compiles a Go program with go-zookeeper, which Debian has as sources in a GOPATH.
 *
 * @returns {string[]} a command, to which the caller adds the arguments of the `go` tool
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

/** The command that runs an etcd server, with which `bench` compares ZooKeeper's clients. */
export function findEtcd() {
  const program = fromEnvironment('ETCD') ?? 'etcd';
  if (!runs(program, '--version')) {
    installDebianPackages('etcd', ['etcd-server'], ['ETCD=/path/to/etcd, 3.4 or later']);
  }
  return program;
}
