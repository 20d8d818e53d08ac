/**
 * Keeps what an example shows free of the warnings that Conclave says by default: of servers that are open to everybody, and of
 * the faults that the example is about. In a service of your own, leave them on.
 */
process.env.CONCLAVE_LOG_LEVEL ??= 'silent';
