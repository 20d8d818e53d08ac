import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.Revoker;
import org.apache.curator.framework.recipes.locks.StandardLockInternalsDriver;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * Contenders for Curator's InterProcessMutex and InterProcessReadWriteLock, all of one session.
 * test/interop/foreign-clients/README.md has the protocol.
 */
public class CuratorLock {
  private static final Map<String, CuratorLock> contenders = new ConcurrentHashMap<>();
  private static CuratorFramework client;

  public static void main(String[] args) throws Exception {
    client = CuratorFrameworkFactory.newClient(
        args[0], Integer.parseInt(args[1]), 10_000, new ExponentialBackoffRetry(100, 5));
    client.start();
    client.blockUntilConnected();
    say("ready");
    BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
    for (String line = commands.readLine(); line != null && !line.equals("quit"); line = commands.readLine()) {
      String[] words = line.split(" ");
      contenders.computeIfAbsent(words[1], CuratorLock::new).obey(words);
    }
    client.close();
    // Contenders that still wait mustn't keep the process alive.
    System.exit(0);
  }

  private static synchronized void say(String line) {
    System.out.println(line);
    System.out.flush();
  }

  private final String name;
  /** A lock belongs to the thread that acquired it. */
  private final ExecutorService thread = Executors.newSingleThreadExecutor();
  private InterProcessMutex lock;
  /** The other side of a write lock. */
  private InterProcessMutex readLock;
  private Path alone;
  private Path mark;

  private CuratorLock(String name) {
    this.name = name;
  }

  private void obey(String[] words) {
    thread.execute(() -> {
      try {
        switch (words[0]) {
          case "acquire" -> acquire(words[2], words[3], Long.parseLong(words[4]), words[5], words.length > 6);
          case "downgrade" -> downgrade();
          case "release" -> {
            release();
            say("released " + name);
          }
          case "contenders" -> {
            open(words[2], words[3]);
            say("contenders " + name + " " + String.join(" ",
                lock.getParticipantNodes().stream().map(CuratorLock::nodeOf).toList()));
          }
          case "revoke" -> {
            Revoker.attemptRevoke(client, words[2]);
            say("asked " + name);
          }
          default -> throw new IllegalArgumentException(words[0]);
        }
      } catch (Exception error) {
        say("failed " + name + " " + error);
      }
    });
  }

  private void open(String path, String names) {
    switch (names) {
      case "standard" -> lock = new InterProcessMutex(client, path);
      case "any" -> lock = new InterProcessMutex(client, path, new ByNumberAlone());
      case "read" -> lock = new InterProcessReadWriteLock(client, path).readLock();
      case "write" -> {
        InterProcessReadWriteLock whole = new InterProcessReadWriteLock(client, path);
        lock = whole.writeLock();
        readLock = whole.readLock();
      }
      default -> throw new IllegalArgumentException(names);
    }
  }

  private void acquire(String path, String guard, long timeoutMs, String names, boolean heeds) throws Exception {
    open(path, names);
    // On the contender's own thread, because no other thread may release the lock.
    if (heeds) lock.makeRevocable(asked -> heed(), thread);
    if (timeoutMs == 0) lock.acquire();
    else if (!lock.acquire(timeoutMs, TimeUnit.MILLISECONDS)) {
      say("timeout " + name);
      return;
    }
    alone = guard.equals("-") ? null : Path.of(guard);
    enter(names.equals("read"));
    say("held " + name + " " + ownNode());
  }

  private void downgrade() throws Exception {
    InterProcessMutex writeLock = lock;
    readLock.acquire();
    if (mark != null) {
      Files.createFile(markToRead());
      Files.delete(mark);
      mark = markToRead();
    }
    writeLock.release();
    lock = readLock;
    say("downgraded " + name + " " + ownNode());
  }

  private void release() throws Exception {
    if (mark != null) Files.delete(mark);
    lock.release();
  }

  private void heed() {
    try {
      release();
    } catch (Exception error) {
      say("failed " + name + " " + error);
    }
  }

  /** Leaves a mark first, and then looks for others: of two contenders that wrongly hold together, one sees the other. */
  private void enter(boolean toRead) throws IOException {
    if (alone == null) return;
    mark = Files.createFile(toRead ? markToRead() : alone);
    if (toRead ? Files.exists(alone) : alone.getParent().toFile().list().length > 1)
      throw new IllegalStateException("another contender holds");
  }

  private Path markToRead() {
    return alone.resolveSibling(name);
  }

  private String ownNode() throws ReflectiveOperationException {
    // The method is protected.
    Method getLockPath = InterProcessMutex.class.getDeclaredMethod("getLockPath");
    getLockPath.setAccessible(true);
    return nodeOf((String) getLockPath.invoke(lock));
  }

  private static String nodeOf(String path) {
    return path.substring(path.lastIndexOf('/') + 1);
  }

  /** Sorts by the number alone, whatever is before it. This includes kazoo's own names. */
  private static class ByNumberAlone extends StandardLockInternalsDriver {
    @Override
    public String fixForSorting(String node, String lockName) {
      return node.substring(Math.max(0, node.length() - 10));
    }
  }
}
