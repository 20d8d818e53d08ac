import java.io.BufferedReader;
import java.io.InputStreamReader;
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
import org.apache.curator.framework.recipes.locks.LockInternalsDriver;
import org.apache.curator.framework.recipes.locks.StandardLockInternalsDriver;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** Contenders for Curator's InterProcessMutex, all of one session: test/interop/peers/README.md has the protocol. */
public class CuratorMutex {
  private static final Map<String, CuratorMutex> contenders = new ConcurrentHashMap<>();
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
      contenders.computeIfAbsent(words[1], CuratorMutex::new).obey(words);
    }
    client.close();
    // Contenders that still wait don't keep the process.
    System.exit(0);
  }

  private static synchronized void say(String line) {
    System.out.println(line);
    System.out.flush();
  }

  private final String name;
  /** A mutex belongs to the thread that acquired it. */
  private final ExecutorService thread = Executors.newSingleThreadExecutor();
  private Mutex mutex;
  private Path guard;

  private CuratorMutex(String name) {
    this.name = name;
  }

  private void obey(String[] words) {
    thread.execute(() -> {
      try {
        switch (words[0]) {
          case "acquire" -> acquire(words[2], words[3], Long.parseLong(words[4]), words[5]);
          case "release" -> release();
          case "contenders" -> say("contenders " + name + " " + String.join(" ",
              mutex.getParticipantNodes().stream().map(CuratorMutex::nodeOf).toList()));
          default -> throw new IllegalArgumentException(words[0]);
        }
      } catch (Exception error) {
        say("failed " + name + " " + error);
      }
    });
  }

  private void acquire(String path, String guardFile, long timeoutMs, String names) throws Exception {
    mutex = new Mutex(path, names.equals("any") ? new ByNumberAlone() : new StandardLockInternalsDriver());
    if (timeoutMs == 0) mutex.acquire();
    else if (!mutex.acquire(timeoutMs, TimeUnit.MILLISECONDS)) {
      say("timeout " + name);
      return;
    }
    guard = guardFile.equals("-") ? null : Path.of(guardFile);
    // Fails if somebody else is in there.
    if (guard != null) Files.createFile(guard);
    say("held " + name + " " + nodeOf(mutex.getLockPath()));
  }

  private void release() throws Exception {
    if (guard != null) Files.delete(guard);
    mutex.release();
    say("released " + name);
  }

  private static String nodeOf(String path) {
    return path.substring(path.lastIndexOf('/') + 1);
  }

  private static class Mutex extends InterProcessMutex {
    Mutex(String path, LockInternalsDriver driver) {
      super(client, path, driver);
    }

    @Override
    public String getLockPath() {
      return super.getLockPath();
    }
  }

  /** Sorts by the number alone, whatever stands before it: kazoo's own names as well. */
  private static class ByNumberAlone extends StandardLockInternalsDriver {
    @Override
    public String fixForSorting(String node, String lockName) {
      return node.substring(Math.max(0, node.length() - 10));
    }
  }
}
