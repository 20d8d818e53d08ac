"""Tries kazoo's recipes, each with clients of its own. test/interop/foreign-clients/README.md has the protocol."""

import sys
import threading
import traceback

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import BadVersionError, LockTimeout, NoNodeError, RolledBackError
from kazoo.retry import KazooRetry

WITHIN_S = 10
recipes = []


def recipe(function):
    recipes.append(function)
    return function


class Clients:
    """Opens clients, and closes them when a recipe has ended."""

    def __init__(self, connect):
        self.connect = connect
        self.opened = []

    def open(self):
        client = KazooClient(hosts=self.connect, timeout=5, connection_retry=KazooRetry(max_tries=5))
        client.start(timeout=WITHIN_S)
        self.opened.append(client)
        return client

    def close(self):
        for client in self.opened:
            client.stop()
            client.close()


class Task(threading.Thread):
    """A function that runs in a thread of its own. Its error isn't lost."""

    def __init__(self, function, *args):
        super().__init__(daemon=True)
        self.function, self.args, self.error, self.result = function, args, None, None
        self.start()

    def run(self):
        try:
            self.result = self.function(*self.args)
        except BaseException as error:
            self.error = error

    def outcome(self):
        self.join(WITHIN_S)
        assert not self.is_alive(), "it still waits"
        if self.error is not None:
            raise self.error
        return self.result


def until(condition):
    event = threading.Event()
    for _ in range(int(WITHIN_S / 0.01)):
        if condition():
            return
        event.wait(0.01)
    raise AssertionError("it did not come true")


@recipe
def lock(clients, path):
    one, two, three = [clients.open() for _ in range(3)]
    locks = [client.Lock(path, name) for client, name in ((one, "one"), (two, "two"), (three, "three"))]
    assert locks[0].acquire(timeout=WITHIN_S)
    assert not locks[1].acquire(blocking=False)
    second = Task(lambda: locks[1].acquire(timeout=WITHIN_S))
    until(lambda: locks[0].contenders() == ["one", "two"])
    third = Task(lambda: locks[2].acquire(timeout=WITHIN_S))
    until(lambda: locks[0].contenders() == ["one", "two", "three"])
    assert second.is_alive()
    locks[0].release()
    assert second.outcome() and locks[1].contenders() == ["two", "three"] and third.is_alive()
    locks[1].release()
    assert third.outcome()
    locks[2].release()
    assert one.get_children(path) == []


@recipe
def lock_that_times_out(clients, path):
    one, two = clients.open(), clients.open()
    with one.Lock(path, "one"):
        try:
            two.Lock(path, "two").acquire(timeout=0.2)
            raise AssertionError("it was acquired")
        except LockTimeout:
            pass
        assert len(one.get_children(path)) == 1


@recipe
def lock_whose_holder_goes(clients, path):
    one, two = clients.open(), clients.open()
    assert one.Lock(path, "one").acquire(timeout=WITHIN_S)
    waiting = Task(lambda: two.Lock(path, "two").acquire(timeout=WITHIN_S))
    until(lambda: len(two.get_children(path)) == 2)
    one.stop()
    assert waiting.outcome()


@recipe
def read_write_lock(clients, path):
    one, two, three = [clients.open() for _ in range(3)]
    readers = [one.ReadLock(path), two.ReadLock(path)]
    for reader in readers:
        assert reader.acquire(timeout=WITHIN_S)
    writer = three.WriteLock(path)
    writing = Task(lambda: writer.acquire(timeout=WITHIN_S))
    until(lambda: len(one.get_children(path)) == 3)
    assert writing.is_alive()
    for reader in readers:
        reader.release()
    assert writing.outcome()
    writer.release()


@recipe
def election(clients, path):
    led, goes_on = [], threading.Event()

    def lead(name):
        led.append(name)
        goes_on.wait(WITHIN_S)

    one, two = clients.open(), clients.open()
    elections = {"one": one.Election(path, "one"), "two": two.Election(path, "two")}
    first = Task(elections["one"].run, lead, "one")
    until(lambda: led == ["one"])
    second = Task(elections["two"].run, lead, "two")
    until(lambda: elections["one"].contenders() == ["one", "two"])
    assert led == ["one"]
    goes_on.set()
    first.outcome()
    second.outcome()
    assert led == ["one", "two"]


@recipe
def election_that_is_canceled(clients, path):
    one, two = clients.open(), clients.open()
    goes_on = threading.Event()
    leading = Task(one.Election(path, "one").run, goes_on.wait, WITHIN_S)
    waiting_election = two.Election(path, "two")
    until(lambda: waiting_election.contenders() == ["one"])
    waiting = Task(waiting_election.run, lambda: None)
    until(lambda: waiting_election.contenders() == ["one", "two"])
    waiting_election.cancel()
    waiting.outcome()
    goes_on.set()
    leading.outcome()
    assert one.get_children(path) == []


@recipe
def semaphore(clients, path):
    seats = [clients.open().Semaphore(path, str(index), max_leases=2) for index in range(3)]
    assert seats[0].acquire(timeout=WITHIN_S) and seats[1].acquire(timeout=WITHIN_S)
    assert not seats[2].acquire(blocking=False)
    waiting = Task(lambda: seats[2].acquire(timeout=WITHIN_S))
    waiting.join(0.1)
    assert waiting.is_alive() and sorted(seats[0].lease_holders()) == ["0", "1"]
    seats[0].release()
    assert waiting.outcome()
    assert sorted(seats[1].lease_holders()) == ["1", "2"]


@recipe
def party(clients, path):
    one, two = clients.open(), clients.open()
    parties = [one.Party(path, "one"), two.Party(path, "two")]
    for each in parties:
        each.join()
    assert sorted(parties[0]) == ["one", "two"] and len(parties[1]) == 2
    two.stop()
    until(lambda: list(parties[0]) == ["one"])
    shallow = one.ShallowParty(path + "-shallow", "three")
    shallow.join()
    assert list(shallow) == ["three"]


@recipe
def counter(clients, path):
    def count(client):
        own = client.Counter(path)
        for _ in range(25):
            own += 1

    for task in [Task(count, clients.open()) for _ in range(3)]:
        task.outcome()
    assert clients.open().Counter(path).value == 75


@recipe
def queue(clients, path):
    one, two = clients.open(), clients.open()
    for value, priority in ((b"second", 100), (b"third", 100), (b"first", 50)):
        one.Queue(path).put(value, priority)
    assert [two.Queue(path).get() for _ in range(3)] == [b"first", b"second", b"third"]
    assert two.Queue(path).get() is None
    locking = [client.LockingQueue(path + "-locking") for client in (one, two)]
    locking[0].put_all([b"a", b"b"])
    assert locking[0].get(WITHIN_S) == b"a" and locking[1].get(WITHIN_S) == b"b"
    assert locking[0].consume() and locking[1].consume()
    waiting = Task(lambda: locking[1].get(WITHIN_S))
    locking[0].put(b"c")
    assert waiting.outcome() == b"c"


@recipe
def barriers(clients, path):
    one, two = clients.open(), clients.open()
    barrier = one.Barrier(path)
    barrier.create()
    waiting = Task(lambda: two.Barrier(path).wait(WITHIN_S))
    assert not one.Barrier(path).wait(0.1)
    barrier.remove()
    assert waiting.outcome()
    doubles = [client.DoubleBarrier(path + "-double", 2) for client in (one, two)]
    for step in ("enter", "leave"):
        for task in [Task(getattr(double, step)) for double in doubles]:
            task.outcome()
    assert one.get_children(path + "-double") == []


@recipe
def partitioner(clients, path):
    members = [clients.open() for _ in range(2)]
    partitioners = [
        client.SetPartitioner(path, set=range(6), identifier=str(index), time_boundary=0.2)
        for index, client in enumerate(members)
    ]

    def both_acquired():
        for each in partitioners:
            if each.release:
                each.release_set()
            elif each.allocating:
                each.wait_for_acquire(0.1)
        return all(each.acquired and len(list(each)) == 3 for each in partitioners)

    until(both_acquired)
    assert sorted([*partitioners[0], *partitioners[1]]) == list(range(6))
    for each in partitioners:
        each.finish()


@recipe
def watches(clients, path):
    one, two = clients.open(), clients.open()
    one.ensure_path(path)
    data, children = [], []
    two.DataWatch(path + "/node")(lambda value, stat: data.append(value))
    two.ChildrenWatch(path)(lambda names: children.append(names))
    one.create(path + "/node", b"0")
    until(lambda: data[-1] == b"0" and children[-1] == ["node"])
    for value in (b"1", b"2"):
        one.set(path + "/node", value)
        until(lambda: data[-1] == value)
    one.delete(path + "/node")
    until(lambda: data[-1] is None and children[-1] == [])


@recipe
def tree_cache(clients, path):
    one, two = clients.open(), clients.open()
    one.ensure_path(path + "/a/b")
    from kazoo.recipe.cache import TreeCache

    cache = TreeCache(two, path)
    cache.start()
    until(lambda: cache.get_data(path + "/a/b") is not None)
    one.create(path + "/a/c", b"new")
    until(lambda: cache.get_data(path + "/a/c") and cache.get_data(path + "/a/c").data == b"new")
    one.delete(path + "/a", recursive=True)
    until(lambda: cache.get_data(path + "/a/b") is None)
    cache.close()


@recipe
def transaction(clients, path):
    client = clients.open()
    client.create(path, b"old")
    good = client.transaction()
    good.check(path, 0)
    good.create(path + "/child", b"", sequence=True)
    good.set_data(path, b"new", 0)
    checked, created, stat = good.commit()
    assert checked is True and created.startswith(path + "/child") and stat.version == 1
    bad = client.transaction()
    bad.set_data(path, b"newer")
    bad.check(path, 7)
    bad.delete(path + "/nothing")
    results = bad.commit()
    assert isinstance(results[0], RolledBackError) and isinstance(results[1], BadVersionError)
    assert client.get(path)[0] == b"new"


@recipe
def sessions(clients, path):
    client = clients.open()
    states = []
    client.add_listener(states.append)
    client.create(path, ephemeral=True)
    assert client.sync(path) == path
    owner = client.exists(path).ephemeralOwner
    assert owner == client.client_id[0]
    thief = KazooClient(hosts=clients.connect, client_id=client.client_id, timeout=5)
    thief.start(timeout=WITHIN_S)
    thief.stop()
    thief.close()
    until(lambda: KazooState.LOST in states)
    until(lambda: client.state == KazooState.CONNECTED)
    try:
        client.get(path)
        raise AssertionError("it outlived its session")
    except NoNodeError:
        pass


def main(connect, root):
    setup = Clients(connect)
    setup.open().ensure_path(root)
    setup.close()
    failed = False
    for each in recipes:
        clients = Clients(connect)
        try:
            each(clients, root + "/" + each.__name__)
            print("passed", each.__name__, flush=True)
        except BaseException:
            failed = True
            print("failed", each.__name__, traceback.format_exc().replace("\n", " | "), flush=True)
        finally:
            clients.close()
    sys.exit(1 if failed else 0)


main(*sys.argv[1:])
