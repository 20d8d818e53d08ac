#!/usr/bin/env node
import { runCommandLine } from './command-line.js';

// Whoever reads the output may leave: `conclave --help | head -1`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

process.exitCode = await runCommandLine(process.argv.slice(2));
