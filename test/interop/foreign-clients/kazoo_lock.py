"""Contenders for kazoo's Lock, all of one session. test/interop/foreign-clients/README.md has the protocol."""

import os
import queue
import sys
import threading
import uuid

from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout

output = threading.Lock()


def say(*words):
    with output:
        print(*words, flush=True)


def make_lock(client, path, names):
    """A lock with kazoo's own names. `own` counts only these; `both` also Curator's; `curator` uses Curator's names, too."""
    if names == "own":
        return client.Lock(path)
    lock = client.Lock(path, extra_lock_patterns=["-lock-"])
    if names == "curator":
        lock.prefix = "_c_" + str(uuid.uuid4()) + "-lock-"
        lock.create_path = path + "/" + lock.prefix
    return lock


class Contender(threading.Thread):
    def __init__(self, client, name):
        super().__init__(daemon=True)
        self.client = client
        self.contender = name
        self.commands = queue.Queue()
        self.lock = None
        self.guard = None
        self.start()

    def run(self):
        while True:
            command, *arguments = self.commands.get()
            try:
                getattr(self, command)(*arguments)
            except Exception as error:
                say("failed", self.contender, repr(error))

    def acquire(self, path, guard, timeout_ms, names, manner="ephemeral"):
        self.lock = make_lock(self.client, path, names)
        try:
            held = self.lock.acquire(timeout=int(timeout_ms) / 1000 or None, ephemeral=manner != "persistent")
        except LockTimeout:
            held = False
        if not held:
            say("timeout", self.contender)
            return
        self.guard = None if guard == "-" else guard
        if self.guard is not None:
            # Fails if another contender holds.
            open(self.guard, "x").close()
        say("held", self.contender, self.lock.node)

    def release(self):
        if self.guard is not None:
            os.remove(self.guard)
        self.lock.release()
        say("released", self.contender)

    def contenders(self, path, names):
        say("contenders", self.contender, *make_lock(self.client, path, names).contenders())


def main(connect, session_timeout_ms):
    client = KazooClient(hosts=connect, timeout=int(session_timeout_ms) / 1000)
    client.start()
    say("ready")
    contenders = {}
    for line in sys.stdin:
        command, *arguments = line.split()
        if command == "quit":
            break
        name, *others = arguments
        if name not in contenders:
            contenders[name] = Contender(client, name)
        contenders[name].commands.put([command, *others])
    client.stop()
    client.close()


main(*sys.argv[1:])
