import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.atomic.DistributedAtomicLong;
import org.apache.curator.framework.recipes.barriers.DistributedBarrier;
import org.apache.curator.framework.recipes.barriers.DistributedDoubleBarrier;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.recipes.nodes.PersistentNode;
import org.apache.curator.framework.recipes.shared.SharedCount;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;

/** Tries Curator's recipes, each with clients of its own. test/interop/foreign-clients/README.md has the protocol. */
public class CuratorRecipes {
  private static final int WITHIN_S = 10;

  private interface Recipe {
    void run(String path) throws Exception;
  }

  private static String connect;
  private static final List<CuratorFramework> opened = new ArrayList<>();
  // Each lock belongs to the thread that acquired it.
  private static final ExecutorService threads = Executors.newCachedThreadPool();

  public static void main(String[] args) throws Exception {
    connect = args[0];
    Map<String, Recipe> recipes = new LinkedHashMap<>();
    recipes.put("InterProcessMutex", CuratorRecipes::mutex);
    recipes.put("InterProcessMutex_whose_holder_goes", CuratorRecipes::mutexWhoseHolderGoes);
    recipes.put("InterProcessReadWriteLock", CuratorRecipes::readWriteLock);
    recipes.put("InterProcessSemaphoreV2", CuratorRecipes::semaphore);
    recipes.put("InterProcessSemaphoreMutex", CuratorRecipes::semaphoreMutex);
    recipes.put("LeaderLatch", CuratorRecipes::leaderLatch);
    recipes.put("LeaderSelector", CuratorRecipes::leaderSelector);
    recipes.put("DistributedAtomicLong", CuratorRecipes::atomicLong);
    recipes.put("SharedCount", CuratorRecipes::sharedCount);
    recipes.put("DistributedBarrier", CuratorRecipes::barrier);
    recipes.put("DistributedDoubleBarrier", CuratorRecipes::doubleBarrier);
    recipes.put("PersistentNode", CuratorRecipes::persistentNode);
    recipes.put("transaction", CuratorRecipes::transaction);
    boolean failed = false;
    for (Map.Entry<String, Recipe> each : recipes.entrySet()) {
      try {
        each.getValue().run(args[1] + "/" + each.getKey());
        System.out.println("passed " + each.getKey());
      } catch (Throwable error) {
        failed = true;
        System.out.println("failed " + each.getKey() + " " + error + " at " + List.of(error.getStackTrace()));
      }
      opened.forEach(CuratorFramework::close);
      opened.clear();
    }
    // Threads that still wait mustn't keep the process alive.
    System.exit(failed ? 1 : 0);
  }

  private static CuratorFramework open() throws Exception {
    CuratorFramework client =
        CuratorFrameworkFactory.newClient(connect, 5000, 10_000, new ExponentialBackoffRetry(50, 5));
    client.start();
    opened.add(client);
    check(client.blockUntilConnected(WITHIN_S, TimeUnit.SECONDS), "no connection");
    return client;
  }

  private static void check(boolean holds, String what) {
    if (!holds) throw new AssertionError(what);
  }

  private static void until(Callable<Boolean> condition, String what) throws Exception {
    for (int tries = 0; tries < WITHIN_S * 100; tries++) {
      if (condition.call()) return;
      Thread.sleep(10);
    }
    throw new AssertionError(what);
  }

  private static <T> T outcome(Future<T> task) throws Exception {
    return task.get(WITHIN_S, TimeUnit.SECONDS);
  }

  private static boolean stillWaits(Future<?> task) throws Exception {
    try {
      task.get(100, TimeUnit.MILLISECONDS);
      return false;
    } catch (TimeoutException expected) {
      return true;
    }
  }

  private static void mutex(String path) throws Exception {
    CuratorFramework one = open();
    InterProcessMutex first = new InterProcessMutex(one, path);
    InterProcessMutex second = new InterProcessMutex(open(), path);
    check(first.acquire(WITHIN_S, TimeUnit.SECONDS), "not acquired");
    check(first.acquire(WITHIN_S, TimeUnit.SECONDS), "not reentrant");
    check(!outcome(threads.submit(() -> second.acquire(100, TimeUnit.MILLISECONDS))), "two hold it");
    until(() -> first.getParticipantNodes().size() == 1, "the node of a timed-out acquire");
    Future<Void> waiting = threads.submit(() -> {
      check(second.acquire(WITHIN_S, TimeUnit.SECONDS), "not acquired");
      second.release();
      return null;
    });
    until(() -> first.getParticipantNodes().size() == 2, "no waiter");
    first.release();
    check(stillWaits(waiting), "released too early");
    first.release();
    outcome(waiting);
    check(one.getChildren().forPath(path).isEmpty(), "nodes are left");
  }

  private static void mutexWhoseHolderGoes(String path) throws Exception {
    CuratorFramework one = open();
    check(new InterProcessMutex(one, path).acquire(WITHIN_S, TimeUnit.SECONDS), "not acquired");
    InterProcessMutex second = new InterProcessMutex(open(), path);
    Future<Boolean> waiting = threads.submit(() -> second.acquire(WITHIN_S, TimeUnit.SECONDS));
    check(stillWaits(waiting), "two hold it");
    one.close();
    check(outcome(waiting), "not acquired");
  }

  private static void readWriteLock(String path) throws Exception {
    InterProcessReadWriteLock one = new InterProcessReadWriteLock(open(), path);
    InterProcessReadWriteLock two = new InterProcessReadWriteLock(open(), path);
    check(one.readLock().acquire(WITHIN_S, TimeUnit.SECONDS), "not read");
    outcome(threads.submit(() -> {
      check(two.readLock().acquire(WITHIN_S, TimeUnit.SECONDS), "not read by two");
      two.readLock().release();
      return null;
    }));
    Future<Boolean> writing = threads.submit(() -> two.writeLock().acquire(WITHIN_S, TimeUnit.SECONDS));
    check(stillWaits(writing), "written while it was read");
    one.readLock().release();
    check(outcome(writing), "not written");
  }

  private static void semaphore(String path) throws Exception {
    InterProcessSemaphoreV2 one = new InterProcessSemaphoreV2(open(), path, 2);
    InterProcessSemaphoreV2 two = new InterProcessSemaphoreV2(open(), path, 2);
    Lease first = one.acquire(WITHIN_S, TimeUnit.SECONDS);
    Lease second = two.acquire(WITHIN_S, TimeUnit.SECONDS);
    check(first != null && second != null, "not two");
    check(one.acquire(100, TimeUnit.MILLISECONDS) == null, "three");
    Future<Lease> third = threads.submit(() -> one.acquire(WITHIN_S, TimeUnit.SECONDS));
    check(stillWaits(third), "three");
    two.returnLease(second);
    check(outcome(third) != null, "not the third");
  }

  private static void semaphoreMutex(String path) throws Exception {
    InterProcessSemaphoreMutex one = new InterProcessSemaphoreMutex(open(), path);
    InterProcessSemaphoreMutex two = new InterProcessSemaphoreMutex(open(), path);
    check(one.acquire(WITHIN_S, TimeUnit.SECONDS), "not acquired");
    check(!two.acquire(100, TimeUnit.MILLISECONDS), "two hold it");
    one.release();
    check(two.acquire(WITHIN_S, TimeUnit.SECONDS), "not acquired");
  }

  private static void leaderLatch(String path) throws Exception {
    LeaderLatch one = new LeaderLatch(open(), path, "one");
    LeaderLatch two = new LeaderLatch(open(), path, "two");
    one.start();
    check(one.await(WITHIN_S, TimeUnit.SECONDS), "no leader");
    two.start();
    until(() -> two.getParticipants().size() == 2, "not two participants");
    check(!two.hasLeadership() && two.getLeader().getId().equals("one"), "the wrong leader");
    one.close();
    check(two.await(WITHIN_S, TimeUnit.SECONDS), "no successor");
    two.close();
  }

  private static void leaderSelector(String path) throws Exception {
    List<String> led = new ArrayList<>();
    CountDownLatch goesOn = new CountDownLatch(1);
    CountDownLatch bothLed = new CountDownLatch(2);
    List<LeaderSelector> selectors = new ArrayList<>();
    for (String id : List.of("one", "two")) {
      LeaderSelector selector = new LeaderSelector(open(), path, new LeaderSelectorListenerAdapter() {
        @Override
        public void takeLeadership(CuratorFramework client) throws Exception {
          led.add(id);
          bothLed.countDown();
          goesOn.await(WITHIN_S, TimeUnit.SECONDS);
        }
      });
      selector.setId(id);
      selector.start();
      selectors.add(selector);
      int count = selectors.size();
      until(() -> selector.getParticipants().size() == count, "no participant");
    }
    until(() -> led.equals(List.of("one")), "not led");
    check(selectors.get(1).getLeader().getId().equals("one"), "the wrong leader");
    goesOn.countDown();
    check(bothLed.await(WITHIN_S, TimeUnit.SECONDS), "no successor");
    selectors.forEach(LeaderSelector::close);
    check(led.equals(List.of("one", "two")), "led by " + led);
  }

  private static void atomicLong(String path) throws Exception {
    List<Future<Void>> tasks = new ArrayList<>();
    for (int index = 0; index < 3; index++) {
      DistributedAtomicLong number = new DistributedAtomicLong(open(), path, new ExponentialBackoffRetry(5, 25));
      tasks.add(threads.submit(() -> {
        for (int count = 0; count < 10; ) if (number.increment().succeeded()) count++;
        return null;
      }));
    }
    for (Future<Void> task : tasks) outcome(task);
    long sum = new DistributedAtomicLong(open(), path, new ExponentialBackoffRetry(5, 5)).get().postValue();
    check(sum == 30, "counted to " + sum);
  }

  private static void sharedCount(String path) throws Exception {
    SharedCount one = new SharedCount(open(), path, 0);
    SharedCount two = new SharedCount(open(), path, 0);
    one.start();
    two.start();
    one.setCount(7);
    until(() -> two.getCount() == 7, "not shared");
    check(two.trySetCount(two.getVersionedValue(), 8), "not set");
    until(() -> one.getCount() == 8, "not shared");
  }

  private static void barrier(String path) throws Exception {
    DistributedBarrier one = new DistributedBarrier(open(), path);
    DistributedBarrier two = new DistributedBarrier(open(), path);
    one.setBarrier();
    Future<Boolean> waiting = threads.submit(() -> two.waitOnBarrier(WITHIN_S, TimeUnit.SECONDS));
    check(stillWaits(waiting), "no barrier");
    one.removeBarrier();
    check(outcome(waiting), "not removed");
  }

  private static void doubleBarrier(String path) throws Exception {
    // Curator 5.4 uses the same watcher for its node `ready` when it enters and when it leaves. If a client finds on entering that
    // all are there, it waits for no notification of that node. A late notification then ends its `leave` while another client is
    // still in the barrier, if its own node is not the first (https://github.com/apache/curator/pull/416). Therefore the first
    // client sees itself alone before the second comes. Only that notification lets it enter, and none is left for its `leave`.
    CountDownLatch seen = new CountDownLatch(1);
    DistributedDoubleBarrier one = new DistributedDoubleBarrier(open(), path, 2) {
      @Override
      protected List<String> getChildrenForEntering() throws Exception {
        List<String> children = super.getChildrenForEntering();
        seen.countDown();
        return children;
      }
    };
    DistributedDoubleBarrier two = new DistributedDoubleBarrier(open(), path, 2);
    Future<Boolean> entering = threads.submit(() -> one.enter(WITHIN_S, TimeUnit.SECONDS));
    check(seen.await(WITHIN_S, TimeUnit.SECONDS), "not come");
    check(stillWaits(entering), "entered alone");
    check(two.enter(WITHIN_S, TimeUnit.SECONDS) && outcome(entering), "not entered");
    Future<Boolean> leaving = threads.submit(() -> one.leave(WITHIN_S, TimeUnit.SECONDS));
    check(stillWaits(leaving), "left alone");
    check(two.leave(WITHIN_S, TimeUnit.SECONDS) && outcome(leaving), "not left");
  }

  private static void persistentNode(String path) throws Exception {
    CuratorFramework one = open();
    CuratorFramework two = open();
    PersistentNode node = new PersistentNode(one, CreateMode.EPHEMERAL, false, path, new byte[] {1});
    node.start();
    check(node.waitForInitialCreate(WITHIN_S, TimeUnit.SECONDS), "not created");
    two.delete().forPath(path);
    until(() -> two.checkExists().forPath(path) != null, "not created again");
    node.close();
    until(() -> two.checkExists().forPath(path) == null, "not deleted");
  }

  private static void transaction(String path) throws Exception {
    CuratorFramework client = open();
    client.create().creatingParentsIfNeeded().forPath(path, new byte[] {1});
    client.transaction().forOperations(
        client.transactionOp().check().withVersion(0).forPath(path),
        client.transactionOp().create().withMode(CreateMode.PERSISTENT_SEQUENTIAL).forPath(path + "/child-"),
        client.transactionOp().setData().withVersion(0).forPath(path, new byte[] {2}));
    check(client.getChildren().forPath(path).equals(List.of("child-0000000000")), "no child");
    try {
      client.transaction().forOperations(
          client.transactionOp().setData().forPath(path, new byte[] {3}),
          client.transactionOp().check().withVersion(7).forPath(path));
      throw new AssertionError("not refused");
    } catch (KeeperException.BadVersionException expected) {
      check(client.getData().forPath(path)[0] == 2, "written all the same");
    }
  }
}
