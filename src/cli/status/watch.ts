import { AuthenticationError, describe } from '../../errors.js';
import type { OverviewState } from '../../overview/model/views.js';
import { Overview } from '../../overview/overview.js';
import { LazyAbortController } from '../../platform/async/lazy-abort.js';
import { deferred, ignore } from '../../platform/async/promises.js';
import { systemEnvironment } from '../../platform/environment.js';
import { startInTime, type Target } from '../options/connection.js';
import { printError } from '../process/output.js';
import { whenStopAsked } from '../process/stop-asked.js';
import { asUserError, orUserError } from '../process/user-error.js';
import type { Presentation } from './presentations.js';

/**
 * Shows the elections at a path and below it, until a signal to stop, or until no process reads the output.
 * @param present - makes the presentation; called when the elections have been read
 * @param only - selects the part of the state to show
 * @throws UserError if it reaches no server at the start, or the servers refuse
 */
export async function watchElections(
  root: string,
  target: Target,
  present: () => Presentation,
  only: (state: OverviewState) => OverviewState = (state) => state,
): Promise<void> {
  const { connect, session } = target;
  const overview = orUserError(() => new Overview(connect, { root, session }));
  const ended = new LazyAbortController();
  const stopAsked = deferred();
  let presentation: Presentation | undefined;
  overview.on('error', (error) => {
    if (error instanceof AuthenticationError)
      stopAsked.reject(asUserError(error)); // It reads no more.
    else if (presentation === undefined) printError(describe(error));
    else presentation.report(describe(error));
  });
  stopAsked.promise.catch(ignore); // At the start the overview says so itself.
  let isStopAsked = false;
  const show = () => presentation?.show(only(overview.state));
  // The reader may wait for one line only, and end. So look for the reader before you print anything.
  const watched = whenStopAsked(systemEnvironment.clock, ended, () => {
    isStopAsked = true;
    stopAsked.resolve();
    void overview.stop(); // Ends a start that is under way.
  });
  try {
    await Promise.all([startInTime(overview, target), watched]);
    overview.attend();
    presentation = present();
    overview.on('change', show);
    show();
    await stopAsked.promise;
  } catch (error) {
    if (!isStopAsked) throw error; // A start that was ended rejects.
  } finally {
    presentation?.end();
    ended.abort(undefined);
    await overview.stop();
  }
}
