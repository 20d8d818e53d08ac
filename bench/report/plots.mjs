/** Draws plots of the rows' results. */
import { median } from '../harness/quantiles.mjs';
import { LOCKS, SHORT_SESSION_MS } from '../rows/host-failover/settings.mjs';
import { draw } from './line-chart.mjs';

/** @import { Finding } from '../harness/finding.mjs' */
/** @import { Line } from './line-chart.mjs' */

const FAILOVERS = { x: 'ms until the successor leads', y: 'share of the failovers', steps: true };

/**
 * Draws the plots for which there are results.
 *
 * @param {readonly Finding[]} findings
 * @returns {Record<string, string>} files by their names: each is named after its finding
 */
export function plots(findings) {
  /** @param {string} id */
  const data = (id) => /** @type {any} */ (findings.find((finding) => finding.id === id)?.data);
  const drawn = Object.entries({
    'handover.svg': handovers(data('handover'), 'Handover of a lock'),
    'election-handover.svg': handovers(data('election-handover'), 'Handover of an election'),
    'herd.svg': herd(data('herd')),
    'guarded-failover.svg': guardedFailover(data('guarded-failover')),
    'host-failover.svg': hostFailover(data('host-failover')),
  });
  return Object.fromEntries(drawn.flatMap(([name, svg]) => (svg === undefined ? [] : [[name, svg]])));
}

/** @param {readonly import('../harness/handovers.mjs').Handovers[] | undefined} measured @param {string} title */
function handovers(measured, title) {
  const alone =
    measured?.filter(
      ({ setting }) => setting.servers === 1 && !setting.isAway && setting.sessions === undefined,
    ) ?? [];
  const names = [...new Set(alone.flatMap(({ series }) => series.map(({ name }) => name)))];
  const lines = names.flatMap((name) =>
    /** @type {const} */ (['at once', 'after a while']).map((pace) => ({
      name: `${name}, ${pace}`,
      dashed: pace === 'after a while',
      points: alone
        .filter(({ setting }) => setting.pace === pace)
        .flatMap(({ setting, series }) =>
          series
            .filter((each) => each.name === name)
            .map(({ rounds }) => /** @type {const} */ ([setting.crowd, median(rounds.flat())])),
        ),
    })),
  );
  return drawIfAny({ title: `${title}, one server`, x: 'contenders', y: 'p50, µs', lines });
}

/** @param {readonly { name: string, contenders: number, requests: number, notifications: number }[]} [costs] */
function herd(costs = []) {
  const names = [...new Set(costs.map(({ name }) => name))];
  const lines = names.map((name) => ({
    name,
    points: costs
      .filter((each) => each.name === name)
      .map(
        ({ contenders, requests, notifications }) =>
          /** @type {const} */ ([contenders, requests + notifications]),
      ),
  }));
  return drawIfAny({
    title: 'What a handover costs the server',
    x: 'contenders',
    y: 'requests and notifications',
    lines,
  });
}

/** @param {{ times: { who: string, sessionTimeoutMs: number, tookMs: number[] }[] }} [guarded] */
function guardedFailover(guarded) {
  const lines = (guarded?.times ?? []).map(({ who, sessionTimeoutMs, tookMs }) => ({
    name: `${who}, ${sessionTimeoutMs / 1000} s`,
    points: distribution(tookMs),
  }));
  return drawIfAny({ ...FAILOVERS, title: "Failover after kill -9, by the session's timeout", lines });
}

/** Plots failovers of elections after kill -9. @param {readonly import('../rows/host-failover/report.mjs').Failovers[]} [measured] */
function hostFailover(measured = []) {
  const lines = measured
    .filter(({ setting }) => setting.fault === 'killed' && !LOCKS.includes(setting.contestant)) // Locks fail over as elections do.
    .map(({ setting: { who, sessionMs }, rounds }) => ({
      name: `${who}, ${sessionMs / 1000} s`,
      dashed: sessionMs === SHORT_SESSION_MS,
      points: distribution(rounds.flat()),
    }));
  return drawIfAny({ ...FAILOVERS, title: 'Failover after kill -9, without a guardian', lines });
}

/** The cumulative distribution: the share of all times that are not longer. @param {readonly number[]} times @returns {[number, number][]} */
export function distribution(times) {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted.flatMap((time, at) => [
    ...(at === 0 ? [/** @type {[number, number]} */ ([time, 0])] : []),
    /** @type {[number, number]} */ ([time, (at + 1) / sorted.length]),
  ]);
}

/** @param {import('./line-chart.mjs').Chart} chart */
function drawIfAny(chart) {
  /** @type {Line[]} */
  const lines = chart.lines.filter(({ points }) => points.length > 0);
  return lines.length === 0 ? undefined : draw({ ...chart, lines });
}
