import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.Watcher.Event.EventType;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Id;
import org.apache.zookeeper.data.Stat;

/** Tries the requests of ZooKeeper's own Java client. test/interop/foreign-clients/README.md has the protocol. */
public class ZooKeeperRequests {
  private static final int WITHIN_S = 10;
  private static final List<ACL> OPEN = ZooDefs.Ids.OPEN_ACL_UNSAFE;

  private interface Request {
    void run(String path) throws Exception;
  }

  /** A client, and the events that it has received. */
  private static class Client implements AutoCloseable {
    final BlockingQueue<WatchedEvent> events = new LinkedBlockingQueue<>();
    final ZooKeeper zk;

    Client() throws Exception {
      zk = new ZooKeeper(connect, 5000, events::add);
      check(next().getState() == Watcher.Event.KeeperState.SyncConnected, "no connection");
    }

    Client(Client other) throws Exception {
      zk = new ZooKeeper(connect, 5000, events::add, other.zk.getSessionId(), other.zk.getSessionPasswd());
      check(next().getState() == Watcher.Event.KeeperState.SyncConnected, "no connection");
    }

    WatchedEvent next() throws InterruptedException {
      WatchedEvent event = events.poll(WITHIN_S, TimeUnit.SECONDS);
      check(event != null, "no event came");
      return event;
    }

    void expect(EventType type, String path) throws InterruptedException {
      WatchedEvent event = next();
      check(event.getType() == type && path.equals(event.getPath()), "not " + type + " but " + event);
    }

    String create(String path, CreateMode mode) throws Exception {
      return zk.create(path, bytes("data"), OPEN, mode);
    }

    @Override
    public void close() throws InterruptedException {
      zk.close();
    }
  }

  private static String connect;

  public static void main(String[] args) throws Exception {
    connect = args[0];
    Map<String, Request> requests = new LinkedHashMap<>();
    requests.put("create", ZooKeeperRequests::create);
    requests.put("data", ZooKeeperRequests::data);
    requests.put("children", ZooKeeperRequests::children);
    requests.put("watches", ZooKeeperRequests::watches);
    requests.put("multi", ZooKeeperRequests::multi);
    requests.put("multi_read", ZooKeeperRequests::multiRead);
    requests.put("sync", ZooKeeperRequests::sync);
    requests.put("config", ZooKeeperRequests::config);
    requests.put("access_lists", ZooKeeperRequests::accessLists);
    requests.put("sessions", ZooKeeperRequests::sessions);
    boolean failed = false;
    for (Map.Entry<String, Request> each : requests.entrySet()) {
      try {
        each.getValue().run(args[1] + "-" + each.getKey());
        System.out.println("passed " + each.getKey());
      } catch (Throwable error) {
        failed = true;
        System.out.println("failed " + each.getKey() + " " + error + " at " + List.of(error.getStackTrace()));
      }
    }
    System.exit(failed ? 1 : 0);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static void check(boolean holds, String what) {
    if (!holds) throw new AssertionError(what);
  }

  private static void refused(KeeperException.Code code, Request request) throws Exception {
    try {
      request.run("");
    } catch (KeeperException error) {
      check(error.code() == code, "not " + code + " but " + error);
      return;
    }
    throw new AssertionError("not refused with " + code);
  }

  private static void create(String path) throws Exception {
    try (Client client = new Client()) {
      Stat stat = new Stat();
      check(client.zk.create(path, bytes("data"), OPEN, CreateMode.PERSISTENT, stat).equals(path), "another path");
      check(stat.getCzxid() > 0 && stat.getDataLength() == 4, "another stat: " + stat);
      check(client.create(path + "/c-", CreateMode.PERSISTENT_SEQUENTIAL).endsWith("c-0000000000"), "another number");
      check(client.create(path + "/c-", CreateMode.EPHEMERAL_SEQUENTIAL).endsWith("c-0000000001"), "another number");
      check(client.create(path + "/box", CreateMode.CONTAINER).equals(path + "/box"), "no container");
      refused(KeeperException.Code.NODEEXISTS, ignored -> client.create(path, CreateMode.PERSISTENT));
      refused(KeeperException.Code.NONODE, ignored -> client.create(path + "/a/b", CreateMode.PERSISTENT));
      String ephemeral = client.create(path + "/e", CreateMode.EPHEMERAL);
      refused(KeeperException.Code.NOCHILDRENFOREPHEMERALS,
          ignored -> client.create(ephemeral + "/x", CreateMode.PERSISTENT));
    }
  }

  private static void data(String path) throws Exception {
    try (Client client = new Client()) {
      client.create(path, CreateMode.PERSISTENT);
      check(client.zk.setData(path, bytes("more"), 0).getVersion() == 1, "another version");
      refused(KeeperException.Code.BADVERSION, ignored -> client.zk.setData(path, bytes("late"), 0));
      client.zk.setData(path, null, -1);
      check(client.zk.getData(path, false, null) == null, "there are data");
      Stat stat = client.zk.exists(path, false);
      check(stat.getVersion() == 2 && stat.getMzxid() > stat.getCzxid(), "another stat: " + stat);
      client.zk.delete(path, 2);
      check(client.zk.exists(path, false) == null, "it is there");
      refused(KeeperException.Code.NONODE, ignored -> client.zk.delete(path, -1));
    }
  }

  private static void children(String path) throws Exception {
    try (Client client = new Client()) {
      client.create(path, CreateMode.PERSISTENT);
      for (String name : List.of("a", "b", "c")) client.create(path + "/" + name, CreateMode.EPHEMERAL);
      client.create(path + "/d", CreateMode.PERSISTENT);
      client.create(path + "/d/e", CreateMode.PERSISTENT);
      Stat stat = new Stat();
      List<String> names = new ArrayList<>(client.zk.getChildren(path, false, stat));
      names.sort(null);
      check(names.equals(List.of("a", "b", "c", "d")), "children: " + names);
      check(stat.getNumChildren() == 4 && stat.getCversion() == 4, "another stat: " + stat);
    }
  }

  private static void watches(String path) throws Exception {
    try (Client one = new Client(); Client two = new Client()) {
      check(one.zk.exists(path, true) == null, "it is there");
      two.create(path, CreateMode.PERSISTENT);
      one.expect(EventType.NodeCreated, path);
      one.zk.getData(path, true, null);
      one.zk.getChildren(path, true);
      two.zk.setData(path, bytes("1"), -1);
      one.expect(EventType.NodeDataChanged, path);
      two.create(path + "/child", CreateMode.EPHEMERAL);
      one.expect(EventType.NodeChildrenChanged, path);
      one.zk.getData(path + "/child", true, null);
      two.close();
      one.expect(EventType.NodeDeleted, path + "/child");
      Watcher never = event -> one.events.add(event);
      one.zk.getData(path, never, null);
      one.zk.removeAllWatches(path, Watcher.WatcherType.Data, false);
      one.zk.setData(path, bytes("2"), -1);
      refused(KeeperException.Code.NOWATCHER,
          ignored -> one.zk.removeAllWatches(path, Watcher.WatcherType.Data, false));
      one.zk.exists(path, false);
      check(one.events.stream().noneMatch(event -> event.getType() == EventType.NodeDataChanged), "notified");
    }
  }

  private static void multi(String path) throws Exception {
    try (Client client = new Client()) {
      client.create(path, CreateMode.PERSISTENT);
      List<OpResult> results = client.zk.multi(List.of(
          Op.check(path, 0),
          Op.create(path + "/c-", bytes("1"), OPEN, CreateMode.PERSISTENT_SEQUENTIAL),
          Op.setData(path, bytes("2"), 0),
          Op.create(path + "/gone", bytes(""), OPEN, CreateMode.PERSISTENT),
          Op.delete(path + "/gone", 0)));
      check(results.get(0) instanceof OpResult.CheckResult, "not checked");
      check(((OpResult.CreateResult) results.get(1)).getPath().endsWith("/c-0000000000"), "another path");
      check(((OpResult.SetDataResult) results.get(2)).getStat().getVersion() == 1, "another version");
      check(results.get(4) instanceof OpResult.DeleteResult, "not deleted");
      try {
        client.zk.multi(List.of(
            Op.setData(path, bytes("3"), 1), Op.check(path, 7), Op.delete(path + "/c-0000000000", 0)));
        throw new AssertionError("not refused");
      } catch (KeeperException error) {
        List<Integer> codes = error.getResults().stream()
            .map(result -> result instanceof OpResult.ErrorResult each ? each.getErr() : 99)
            .toList();
        check(error.code() == KeeperException.Code.BADVERSION, "another error: " + error);
        check(codes.equals(List.of(0, -103, -2)), "results: " + codes);
      }
      check(Arrays.equals(client.zk.getData(path, false, null), bytes("2")), "written all the same");
      client.zk.transaction().check(path, 1).delete(path + "/c-0000000000", 0).commit();
    }
  }

  private static void multiRead(String path) throws Exception {
    try (Client client = new Client()) {
      client.create(path, CreateMode.PERSISTENT);
      client.create(path + "/child", CreateMode.PERSISTENT);
      List<OpResult> results = client.zk.multi(
          List.of(Op.getChildren(path), Op.getData(path), Op.getData(path + "/nothing")));
      check(((OpResult.GetChildrenResult) results.get(0)).getChildren().equals(List.of("child")), "other children");
      check(Arrays.equals(((OpResult.GetDataResult) results.get(1)).getData(), bytes("data")), "other data");
      check(((OpResult.ErrorResult) results.get(2)).getErr() == KeeperException.Code.NONODE.intValue(), "no error");
    }
  }

  private static void sync(String path) throws Exception {
    try (Client client = new Client()) {
      CompletableFuture<String> synced = new CompletableFuture<>();
      client.zk.sync(path, (code, answered, context) -> synced.complete(code + " " + answered), null);
      check(synced.get(WITHIN_S, TimeUnit.SECONDS).equals("0 " + path), "synced: " + synced);
    }
  }

  private static void config(String path) throws Exception {
    try (Client client = new Client()) {
      Stat stat = new Stat();
      byte[] config = client.zk.getConfig(false, stat);
      check(config != null && config.length == stat.getDataLength(), "no configuration");
      List<String> names = new ArrayList<>(client.zk.getChildren("/zookeeper", false));
      names.sort(null);
      check(names.equals(List.of("config", "quota")), "nodes of the server: " + names);
    }
  }

  private static void accessLists(String path) throws Exception {
    try (Client owner = new Client(); Client other = new Client()) {
      owner.zk.addAuthInfo("digest", bytes("user:password"));
      owner.zk.create(path, bytes("data"), ZooDefs.Ids.CREATOR_ALL_ACL, CreateMode.PERSISTENT);
      check(owner.zk.whoAmI().stream().anyMatch(who -> who.getAuthScheme().equals("digest")), "nobody");
      refused(KeeperException.Code.NOAUTH, ignored -> other.zk.getData(path, false, null));
      Stat stat = new Stat();
      ACL acl = owner.zk.getACL(path, stat).get(0);
      check(acl.getId().getScheme().equals("digest") && acl.getPerms() == ZooDefs.Perms.ALL, "acl: " + acl);
      ACL readable = new ACL(ZooDefs.Perms.READ, new Id("world", "anyone"));
      owner.zk.setACL(path, Arrays.asList(acl, readable), stat.getAversion());
      check(Arrays.equals(other.zk.getData(path, false, null), bytes("data")), "other data");
      refused(KeeperException.Code.NOAUTH, ignored -> other.zk.setData(path, bytes(""), -1));
      refused(KeeperException.Code.INVALIDACL,
          ignored -> other.zk.create(path + "-2", bytes(""), ZooDefs.Ids.CREATOR_ALL_ACL, CreateMode.PERSISTENT));
    }
  }

  private static void sessions(String path) throws Exception {
    try (Client one = new Client(); Client other = new Client()) {
      check(one.zk.getSessionTimeout() == 5000, "another timeout");
      one.create(path, CreateMode.EPHEMERAL);
      check(other.zk.exists(path, true).getEphemeralOwner() == one.zk.getSessionId(), "another owner");
      // A client that knows a session's id and password may take the session over, and end it.
      Client thief = new Client(one);
      check(thief.zk.getSessionId() == one.zk.getSessionId(), "another session");
      thief.close();
      other.expect(EventType.NodeDeleted, path);
      for (WatchedEvent event = one.next(); ; event = one.next())
        if (event.getState() == Watcher.Event.KeeperState.Expired) break;
    }
  }
}
