#!/usr/bin/env node
import { runCommandLine } from './command-line.js';

// Whoever reads the output may leave: `conclave --help | head -1`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

// Opened here and now: it sets the pipe that it may be to not blocking, which `conclave run` shares with its command. What
// is started later sets it back.
void process.stderr;

process.exitCode = await runCommandLine(process.argv.slice(2));
