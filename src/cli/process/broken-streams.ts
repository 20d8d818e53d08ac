import { ignore } from '../../platform/async/promises.js';
import { EXIT } from './exit-codes.js';
import { printError } from './output.js';

/**
 * Keeps this process's standard output and error from ending it, whatever becomes of them: a full device, a closed pipe, a terminal that
 * is gone. A candidate goes on without output: its messages matter least of what it does.
 *
 * If standard output could not be written, a command that would exit with 0 exits with `EXIT.outputLost`. A closed pipe is no such
 * failure: its reader (`conclave --help | head -1`) wants no more.
 */
export function surviveBrokenStreams(): void {
  process.stderr.on('error', ignore); // `printError` and the logger count what is lost.
  process.stdout.on('error', ignore);
  const onLost = (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') return;
    process.stdout.off('error', onLost);
    printError(`standard output can't be written: ${error.message}`);
    process.on('exit', (code) => {
      if (code === EXIT.ok) process.exitCode = EXIT.outputLost;
    });
  };
  process.stdout.on('error', onLost);
}
