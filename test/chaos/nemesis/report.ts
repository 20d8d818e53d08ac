import type { Verdict } from './checker/check.js';
import type { Quantiles } from './checker/gaps.js';
import type { SinkFigures } from './checker/journals.js';

const MOST_VIOLATIONS = 20;

/** The results of a run, for people. */
export function report(verdict: Verdict): string {
  const { setting, faults, violations } = verdict;
  const { seed, links, hasTakeoverDelay, areThreadsCareless, areLeasesFromReplies } = setting;
  const { notAllowed, sessionTimeoutMs } = setting;
  const wired = links === 'wired' ? ', each in a network of its own' : '';
  const delay = hasTakeoverDelay ? '' : ', no takeover delay';
  const careless = areThreadsCareless ? ', careless threads' : '';
  const late = areLeasesFromReplies ? ', leases from replies' : '';
  const minutes = ((faults.to - faults.from) / 60_000_000).toFixed(1);
  return [
    `seed ${seed}: ${minutes} minutes, ${faults.storms} storms, sessions of ${sessionTimeoutMs} ms${wired}${delay}${careless}${late}`,
    ...faultLines(verdict),
    ...notAllowed.map((why) => `not allowed by this machine: ${why}`),
    ...disagreements(verdict),
    ...terms(verdict),
    ...stalls(verdict),
    ...gaps(verdict),
    ...writes(verdict),
    violations.length === 0 ? 'violations: 0' : `violations: ${violations.length}`,
    ...violations.slice(0, MOST_VIOLATIONS).map(({ kind, what }) => `  ${kind}: ${what}`),
    ...(violations.length > MOST_VIOLATIONS ? ['  …'] : []),
  ].join('\n');
}

function faultLines({ faults }: Verdict): string[] {
  const { effects, wishes, passedOver } = faults;
  const lines = sorted(faults.counts).map(([name, count]) => {
    const seen = effects.get(name);
    return `  ${name}: ${count}${seen === undefined ? '' : ` (seen to take effect: ${seen})`}`;
  });
  return [
    `faults: ${total(faults.counts)}`,
    ...lines,
    ...sorted(wishes).map(([what, count]) => `asked for: ${what}: ${count}`),
    ...sorted(passedOver).map(([what, count]) => `passed over: ${what}: ${count}`),
  ];
}

function disagreements({ faults: { disagreements } }: Verdict): string[] {
  if (disagreements.length === 0) return [];
  return [
    "ZooKeeper's servers disagreed, and the one that differed was given the others' data:",
    ...disagreements.map(({ what }) => `  ${what}`),
  ];
}

function terms({ terms, holds, shownVersions }: Verdict): string[] {
  const reasons = sorted(terms.reasons).map(([reason, count]) => `${reason} ${count}`);
  const { checks, slowChecks, overlapsOfLocks } = holds;
  return [
    `terms: ${total(terms.terms)}, ended: ${reasons.join(', ')}`,
    `versions of records that servers have shown: ${shownVersions}`,
    `terms that came again since ZooKeeper took back what it had committed: ${terms.takenBack.length}`,
    ...terms.takenBack.map((each) => `  ${each}`),
    `overlaps with such terms: ${holds.takenBack.length}`,
    ...holds.takenBack.map((each) => `  ${each}`),
    `times at which a leader or holder asked and acted: ${checks}, of which it stood still before it acted: ${slowChecks}`,
    `overlaps of holders of a lock (no takeover delay; counted only): ${overlapsOfLocks}`,
  ];
}

function stalls({ stalls }: Verdict): string[] {
  const { overLease, overMost, actsOfThreads, actsInStalls, kept, keptOverLease, keptInCalm, lost } = stalls;
  const { lostInCalmWithoutProcessor, threadFailures } = stalls;
  return [
    `stalls of main threads: ${stalls.stalls}; with maxStallMs: ${overLease} longer than a lease and shorter than maxStallMs, ${overMost} longer than that`,
    `times at which another thread asked and acted: ${actsOfThreads}, of which in a stall: ${actsInStalls}`,
    `terms over stalls shorter than maxStallMs: ${kept} kept (${keptOverLease} over stalls longer than a lease, ${keptInCalm} with no fault nearby), ${lost} lost (${lostInCalmWithoutProcessor} with no fault nearby, without a processor)`,
    `failures of the connections' thread: ${threadFailures}`,
  ];
}

function gaps({ gaps, recoveriesMs }: Verdict): string[] {
  const [longest = 0] = recoveriesMs;
  return [
    `gaps between leaders, with a fault nearby: ${quantiles(gaps.withFaults)}`,
    `gaps between leaders, with none: ${quantiles(gaps.withoutFaults)}`,
    `acting again after all faults had ended: within ${Math.round(longest)} ms`,
  ];
}

function quantiles({ count, p50, p99, max }: Quantiles): string {
  const ms = (value: number) => (value < 10 ? value.toFixed(1) : String(Math.round(value)));
  return count === 0 ? 'none' : `${count}; p50 ${ms(p50)} ms, p99 ${ms(p99)} ms, max ${ms(max)} ms`;
}

function writes({ journals }: Verdict): string[] {
  const line = ({ taken, refused, lost, doubled, outOfTurn }: SinkFigures) =>
    `${taken} taken, ${refused} refused, ${lost} lost, ${doubled} doubled, ${outOfTurn} by a former holder`;
  return [
    `writes with a fence: ${line(journals.fenced)}`,
    `writes without one (counted only): ${line(journals.open)}`,
  ];
}

function sorted(counts: ReadonlyMap<string, number>): [string, number][] {
  return [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
}

function total(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0);
}
