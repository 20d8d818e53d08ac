import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.api.CuratorEventType;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** Contends with Curator's InterProcessMutex or LeaderLatch. bench/peers/README.md describes the protocol. */
public class Curator {
  private static final List<Contender> contenders = new ArrayList<>();
  private static final BlockingQueue<Contender> held = new LinkedBlockingQueue<>();
  private static int inLine;
  private static Contender holder;
  private static volatile boolean closing;

  public static void main(String[] args) {
    try {
      say("ready");
      BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
      for (String line = commands.readLine(); line != null && !line.equals("quit"); line = commands.readLine())
        obey(line.split(" "), args);
      closing = true;
      // ZooKeeper's client closes one session of a process at a time, in up to 0.1 s each. Curator then waits for threads.
      // These waits run at the same time.
      ExecutorService closers = Executors.newCachedThreadPool();
      List<Future<?>> closed = new ArrayList<>();
      for (Contender each : contenders) closed.add(closers.submit(each.client::close));
      for (Future<?> each : closed) each.get();
      System.exit(0);
    } catch (Throwable error) {
      fail(error);
    }
  }

  private static void obey(String[] words, String[] args) throws Exception {
    switch (words[0]) {
      case "open" -> {
        int n = Integer.parseInt(words[1]);
        while (contenders.size() < n) contenders.add(contender(args[2], connect(args[0], Integer.parseInt(args[1]))));
        for (Contender each : contenders) each.client.blockUntilConnected();
        say("opened");
      }
      case "cycle" -> say("took" + contenders.get(0).cycle(words[1], Integer.parseInt(words[2])));
      case "queue" -> {
        inLine = Integer.parseInt(words[2]);
        CountDownLatch begun = new CountDownLatch(inLine);
        for (Contender each : contenders.subList(0, inLine))
          each.getInLine(words[1], begun::countDown, () -> held.add(each));
        begun.await();
        holder = held.take();
        say("queued");
      }
      case "hand" -> {
        if (inLine < 2) throw new IllegalStateException("no contender waits");
        long from = handOver();
        say("took" + micros(holder.heldAt - from));
      }
      case "leave" -> {
        // Each contender gets its turn, because one that leaves wakes the next one, which lists the whole queue.
        while (inLine > 0) handOver();
        say("left");
      }
      case "stand" -> contenders.get(Integer.parseInt(words[2]))
          .getInLine(words[1], () -> say("standing"), () -> say("held " + words[2]));
      default -> throw new IllegalArgumentException("no such command: " + words[0]);
    }
  }

  /** Hands over to the next contender, if there is one. Returns the time at which the handover began. */
  private static long handOver() throws Exception {
    Contender before = holder;
    long from = before.onThread(() -> {
      long now = System.nanoTime();
      before.release();
      return now;
    }).get();
    inLine--;
    if (inLine > 0) holder = held.take();
    return from;
  }

  private static CuratorFramework connect(String servers, int timeoutMs) {
    return CuratorFrameworkFactory.builder().connectString(servers).sessionTimeoutMs(timeoutMs)
        .retryPolicy(new ExponentialBackoffRetry(1000, 3)).build();
  }

  private static Contender contender(String recipe, CuratorFramework client) {
    return switch (recipe) {
      case "mutex" -> new MutexContender(client);
      case "latch" -> new LatchContender(client);
      default -> throw new IllegalArgumentException("no such recipe: " + recipe);
    };
  }

  /** A session, and the thread that acquires with it: a mutex belongs to the thread that acquired it. */
  private abstract static class Contender {
    final CuratorFramework client;
    private final ExecutorService thread = Executors.newSingleThreadExecutor();
    long heldAt;

    Contender(CuratorFramework client) {
      this.client = client;
      client.start();
      onThread(() -> null);
    }

    abstract void prepare(String path);

    /** Acquires, and notes when the contender knew that it holds. */
    abstract void acquire() throws Exception;

    abstract void release() throws Exception;

    <T> Future<T> onThread(Callable<T> task) {
      return thread.submit(() -> {
        try {
          return task.call();
        } catch (Throwable error) {
          if (!closing) fail(error);
          throw error;
        }
      });
    }

    void getInLine(String path, Runnable begin, Runnable hold) {
      onThread(() -> {
        prepare(path);
        begin.run();
        acquire();
        hold.run();
        return null;
      });
    }

    String cycle(String path, int count) throws Exception {
      return onThread(() -> {
        StringBuilder took = new StringBuilder();
        prepare(path);
        for (int i = 0; i < count; i++) {
          long from = System.nanoTime();
          acquire();
          release();
          took.append(micros(System.nanoTime() - from));
        }
        return took.toString();
      }).get();
    }
  }

  private static class MutexContender extends Contender {
    private InterProcessMutex mutex;

    MutexContender(CuratorFramework client) {
      super(client);
    }

    void prepare(String path) {
      mutex = new InterProcessMutex(client, path);
    }

    void acquire() throws Exception {
      mutex.acquire();
      heldAt = System.nanoTime();
    }

    void release() throws Exception {
      mutex.release();
    }
  }

  private static class LatchContender extends Contender implements LeaderLatchListener {
    private final Semaphore deleted = new Semaphore(0);
    private String path;
    private LeaderLatch latch;

    LatchContender(CuratorFramework client) {
      super(client);
      client.getCuratorListenable().addListener((same, event) -> {
        if (event.getType() == CuratorEventType.DELETE) deleted.release();
      });
    }

    void prepare(String path) {
      this.path = path;
    }

    void acquire() throws Exception {
      latch = new LeaderLatch(client, path);
      latch.addListener(this);
      latch.start();
      latch.await();
    }

    public void isLeader() {
      heldAt = System.nanoTime();
    }

    public void notLeader() {}

    void release() throws Exception {
      latch.close();
      // The latch deletes its node in the background.
      deleted.acquire();
    }
  }

  private static String micros(long nanos) {
    return String.format(Locale.ROOT, " %.1f", nanos / 1e3);
  }

  private static synchronized void say(String line) {
    System.out.println(line);
    System.out.flush();
  }

  private static void fail(Throwable error) {
    say("failed " + error.toString().replace('\n', ' '));
    Runtime.getRuntime().halt(1);
  }
}
