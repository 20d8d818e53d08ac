import { Session } from '../../../src/index.js';
import type { PartResult, Stat, TransactionPart } from '../../../src/session/protocol/multi-and-stats.js';

/** Receives a version of a node that a server has shown. */
type OnShown = (path: string, stat: Stat) => void;

/**
 * Reports each version of a node that servers show to this process, in the replies to its reads and to its writes. The calls get what they
 * would get without it, at the same moment.
 */
export function watchShownVersions(onShown: OnShown): void {
  const { prototype } = Session;
  const { commit, getData, exists, getDataOfEach, readAndWatch } = prototype;
  const show = (path: string, stat: Stat | undefined) => {
    if (stat !== undefined) onShown(path, stat);
  };
  const showParts = (parts: readonly TransactionPart[], results: readonly PartResult[]) => {
    for (const [index, { path }] of parts.entries()) show(path, results[index]?.stat);
  };

  prototype.commit = function (parts) {
    return observed(commit.call(this, parts), ({ value }) => showParts(parts, value));
  };
  prototype.getData = function (path, ...rest) {
    return observed(getData.call(this, path, ...rest), ({ stat }) => show(path, stat));
  };
  prototype.readAndWatch = function (path, ...rest) {
    return observed(readAndWatch.call(this, path, ...rest), ({ stat }) => show(path, stat));
  };
  prototype.exists = function (path, ...rest) {
    return observed(exists.call(this, path, ...rest), (stat) => show(path, stat));
  };
  prototype.getDataOfEach = function (paths) {
    return observed(getDataOfEach.call(this, paths), (nodes) => {
      for (const [index, node] of nodes.entries())
        if ('stat' in node) show(paths[index] as string, node.stat);
    });
  };
}

/** The same promise: a further one would settle later. */
function observed<T>(promise: Promise<T>, onValue: (value: T) => void): Promise<T> {
  promise.then(onValue, () => undefined);
  return promise;
}
