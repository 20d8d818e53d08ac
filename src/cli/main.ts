#!/usr/bin/env node
import { runCommandLine } from './command-line.js';

// The reader of the output may close its pipe (`conclave --help | head -1`). A candidate goes on without output: its
// messages matter least of what it does. Naming the streams here opens them, which sets pipes to non-blocking; `conclave run`
// shares these pipes with its command. Starting a child process sets them back.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });

process.exitCode = await runCommandLine(process.argv.slice(2));
