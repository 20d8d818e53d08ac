"""Contends with kazoo's Lock or Election. bench/peers/README.md describes the protocol."""

import logging
import os
import queue
import sys
import threading
import time
from time import perf_counter_ns

from kazoo.client import KazooClient

OPEN_WITHIN_S = 120

output = threading.Lock()
held = queue.SimpleQueue()
closing = threading.Event()


def say(*words):
    with output:
        print(*words, flush=True)


def micros(nanos):
    return f"{nanos / 1000:.1f}"


class Contender(threading.Thread):
    """A session, and the thread that waits for its lock."""

    def __init__(self, servers, timeout_ms):
        super().__init__(daemon=True)
        self.client = KazooClient(hosts=servers, timeout=timeout_ms / 1000)
        self.connected = self.client.start_async()
        self.lock = None
        self.held_at = None
        self.tasks = queue.SimpleQueue()
        self.start()

    def run(self):
        while True:
            function, *arguments = self.tasks.get()
            try:
                function(*arguments)
            except BaseException as error:
                if closing.is_set():
                    return
                say("failed", repr(error))
                os._exit(1)

    def stand(self, recipe, path, session):
        say("standing")
        if recipe == "election":
            self.client.Election(path).run(lambda: lead(session))
        else:
            self.client.Lock(path).acquire()
            say("held", session)

    def wait_in_line(self, path, begun):
        self.lock = self.client.Lock(path)
        begun.release()
        self.lock.acquire()
        self.held_at = perf_counter_ns()
        held.put(self)

    def close(self):
        self.client.stop()
        self.client.close()


def lead(session):
    say("held", session)
    closing.wait()


class Peer:
    def __init__(self, servers, timeout_ms, recipe):
        self.recipe = recipe
        self.servers = servers
        self.timeout_ms = timeout_ms
        self.contenders = []
        self.in_line = 0
        self.holder = None

    def open(self, n):
        more = [Contender(self.servers, self.timeout_ms) for _ in range(int(n) - len(self.contenders))]
        self.contenders += more
        for contender in more:
            if not contender.connected.wait(OPEN_WITHIN_S):
                raise TimeoutError(f"no session within {OPEN_WITHIN_S} s")
        say("opened")

    def cycle(self, path, count):
        lock = self.contenders[0].client.Lock(path)
        took = []
        for _ in range(int(count)):
            start = perf_counter_ns()
            lock.acquire()
            lock.release()
            took.append(perf_counter_ns() - start)
        say("took", *map(micros, took))

    def queue(self, path, n):
        self.in_line = int(n)
        begun = threading.Semaphore(0)
        for contender in self.contenders[: self.in_line]:
            contender.tasks.put((contender.wait_in_line, path, begun))
            begun.acquire()
            # One contender joins after the other: a thousand threads that list at the same time take a minute, because
            # of the interpreter's lock.
            while contender.lock.node is None:
                time.sleep(0.001)
        self.holder = held.get()
        say("queued")

    def hand(self):
        if self.in_line < 2:
            raise ValueError("no contender waits")
        start = self.release()
        say("took", micros(self.holder.held_at - start))

    def leave(self):
        # Each contender gets its turn, because one that leaves wakes the next one, which lists the whole queue.
        while self.in_line > 0:
            self.release()
        say("left")

    def release(self):
        """Hands over to the next contender, if there is one. Returns the time at which the handover began."""
        start = perf_counter_ns()
        self.holder.lock.release()
        self.in_line -= 1
        if self.in_line > 0:
            self.holder = held.get()
        return start

    def stand(self, path, session):
        contender = self.contenders[int(session)]
        contender.tasks.put((contender.stand, self.recipe, path, session))

    def close(self):
        closing.set()
        for contender in self.contenders:
            contender.close()


def main(servers, timeout_ms, recipe):
    if recipe not in ("lock", "election"):
        raise ValueError(f"no such recipe: {recipe}")
    # Small enough for four threads in each session.
    threading.stack_size(256 * 1024)
    logging.getLogger("kazoo").setLevel(logging.CRITICAL)
    peer = Peer(servers, int(timeout_ms), recipe)
    say("ready")
    for line in sys.stdin:
        command, *arguments = line.split()
        if command == "quit":
            break
        getattr(peer, command)(*arguments)
    peer.close()


try:
    main(*sys.argv[1:])
except Exception as error:
    say("failed", repr(error))
    os._exit(1)
