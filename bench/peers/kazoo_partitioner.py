"""Shares pieces of work out with kazoo's SetPartitioner, lets one more worker join, and prints the events of the pieces.

Arguments: servers, session timeout in ms, workers before the change, pieces, time_boundary in s. The program prints, as JSON, the events
from the join until all pieces have an owner again. Each has the form of ShardEvent in bench/rows/shards/history.mjs. The program ends when its
standard input is closed.
"""

import json
import logging
import os
import sys
import threading
import time

from kazoo.client import KazooClient

PATIENCE_S = 300

lock = threading.Condition()
events = []
owned = {}


def note(worker, pieces, kind):
    with lock:
        at_ms = time.perf_counter_ns() / 1e6
        for piece in pieces:
            events.append({"member": worker, "shard": piece, "kind": kind, "atMs": at_ms})
        owned[worker] = list(pieces) if kind == "acquired" else []
        lock.notify_all()


class Worker(threading.Thread):
    """A session, and the loop that kazoo's documentation has for a worker."""

    def __init__(self, number, servers, timeout_ms, pieces, time_boundary):
        super().__init__(daemon=True)
        self.number = number
        self.pieces = pieces
        self.time_boundary = time_boundary
        self.client = KazooClient(hosts=servers, timeout=timeout_ms / 1000)
        self.client.start()

    def run(self):
        changed = threading.Event()
        partitioner = self.client.SetPartitioner(
            path="/partition",
            set=self.pieces,
            identifier=f"worker-{self.number:03}",
            time_boundary=self.time_boundary,
            state_change_event=changed,
        )
        had = []
        while True:
            changed.clear()
            if partitioner.failed:
                print("a partitioner has failed", file=sys.stderr, flush=True)
                os._exit(1)
            if partitioner.release:
                note(self.number, had, "ended")
                had = []
                partitioner.release_set()
                continue
            if partitioner.acquired and not had:
                had = list(partitioner)
                note(self.number, had, "acquired")
            changed.wait()


def wait_until(is_met):
    with lock:
        if not lock.wait_for(is_met, timeout=PATIENCE_S):
            raise TimeoutError(f"the pieces have no owners after {PATIENCE_S} s")


def end_with_parent():
    sys.stdin.read()
    os._exit(1)


def main(servers, timeout_ms, workers, pieces, time_boundary):
    logging.getLogger("kazoo").setLevel(logging.CRITICAL)
    threading.Thread(target=end_with_parent, daemon=True).start()
    count = int(workers)
    names = [f"piece-{at:05}" for at in range(int(pieces))]
    settings = (servers, int(timeout_ms), names, int(time_boundary))
    for worker in [Worker(number, *settings) for number in range(count)]:
        worker.start()
    # Waits until each worker has the part that it has in a complete group.
    wait_until(lambda: all(len(owned.get(at, [])) == len(names[at::count]) for at in range(count)))
    newcomer = Worker(count, *settings)
    with lock:
        events.clear()
    newcomer.start()
    wait_until(lambda: all(len(owned.get(at, [])) == len(names[at :: count + 1]) for at in range(count + 1)))
    with lock:
        print(json.dumps(events), flush=True)
    os._exit(0)


try:
    main(*sys.argv[1:])
except Exception as error:
    print(repr(error), file=sys.stderr, flush=True)
    os._exit(1)
