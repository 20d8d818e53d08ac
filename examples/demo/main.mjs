/**
 * The demo: an election of three replicas or, with `--shards`, shards that workers share.
 *
 *     npm run demo                          with the embedded server: nothing is installed
 *     npm run demo -- --shards              the same for shards
 *     npm run demo -- --real                with a real ZooKeeper server of its own, installed if it is missing
 *     ZOOKEEPER=host:port,… npm run demo    with yours
 */
await import(process.argv.includes('--shards') ? './shards.mjs' : './replicas.mjs');
