"""
Runs the tests that come with kazoo on one server that another process has started. README.md beside this file has the protocol.

usage: kazoo_suite.py <host:port> <a class to leave out>
"""
import os
import sys

sys.dont_write_bytecode = True  # The tests are Debian's files.

import kazoo.testing.harness
import pytest

# pytest takes standard input and output away from the tests, and from this program's server.
LINES_IN = os.fdopen(os.dup(0))
LINES_OUT = os.fdopen(os.dup(1), 'w')
os.dup2(2, 1)


def say(*words):
    print(*words, file=LINES_OUT, flush=True)


class Server:
    """What kazoo's tests use of a server: another process runs it."""

    running = True

    def __init__(self, address):
        self.address = address
        self.client_port = int(address.split(':')[1])

    def _ask(self, order):
        say(order)
        assert LINES_IN.readline() == 'done\n'

    def run(self):
        if not self.running:
            self._ask('run')
        self.running = True

    def stop(self):
        if self.running:
            self._ask('stop')
        self.running = False


class Cluster(list):
    def start(self):
        for server in self:
            server.run()


class Outcomes:
    """Tells the outcome of each case when it is known."""

    def __init__(self):
        self._reports = []

    def pytest_runtest_logreport(self, report):
        self._reports.append(report)
        if report.when != 'teardown':
            return
        outcomes = {each.outcome for each in self._reports}
        self._reports = []
        outcome = next(each for each in ('failed', 'skipped', 'passed') if each in outcomes)
        say(outcome, report.nodeid.split('/')[-1])


cluster = Cluster([Server(sys.argv[1])])
kazoo.testing.harness.get_global_cluster = lambda: cluster
# Otherwise they ask for `envi`, which the embedded server doesn't know.
os.environ.update(TRAVIS='true', ZOOKEEPER_VERSION='3.8.0')
options = ['-q', '--tb=short', '--show-capture=no', '-p', 'no:cacheprovider', '-c', os.devnull]
pytest.main([*options, '-k', f'not {sys.argv[2]}', '--pyargs', 'kazoo.tests'], plugins=[Outcomes()])
# Clients of failed cases leave threads behind.
os._exit(0)
