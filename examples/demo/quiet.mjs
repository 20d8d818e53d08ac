/**
 * Silences the warnings that Conclave logs by default, about servers without access control and about the faults that the demo
 * causes. In your own service, keep them.
 */
process.env.CONCLAVE_LOG_LEVEL ??= 'silent';
