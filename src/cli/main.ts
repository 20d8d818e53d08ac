#!/usr/bin/env node
import { outliveTerminals } from '../cluster/run-command/outlive-terminal.js';
import { runCommandLine } from './command-line.js';
import { surviveBrokenStreams } from './process/output.js';

// This opens the streams, which sets pipes to non-blocking. `conclave run` shares these pipes with its command: starting a child process
// sets them back.
surviveBrokenStreams();
outliveTerminals();

process.exitCode = await runCommandLine(process.argv.slice(2));
