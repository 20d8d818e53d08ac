#!/usr/bin/env node
import { runCommandLine } from './command-line.js';

// Whoever reads the output may leave: `conclave --help | head -1`. What stands in an election goes on without: to say what
// happens is the least of what it does. To name them here opens them: that sets the pipes that they may be to not
// blocking, which `conclave run` shares with its command. What is started later sets them back.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });

process.exitCode = await runCommandLine(process.argv.slice(2));
