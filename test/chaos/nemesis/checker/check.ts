import type { Entry, Setting } from '../history.js';
import { FaultCheck, type FaultFigures } from './faults.js';
import { type Gap, gapsOf, hasFaultNear, type Quantiles, quantilesOf, recoveriesOf } from './gaps.js';
import { HoldCheck, type HoldFigures } from './holds.js';
import { JournalEvents } from './journal-events.js';
import { JournalCheck, type JournalFigures } from './journals.js';
import { RecordVersions } from './record-versions.js';
import { StallCheck, type StallFigures } from './stalls.js';
import { TermCheck, type TermFigures } from './terms.js';
import type { Violation } from './verdict.js';

/** Everything that a history shows. */
export interface Verdict {
  readonly setting: Setting;
  readonly violations: readonly Violation[];
  readonly faults: FaultFigures;
  readonly holds: HoldFigures;
  readonly terms: TermFigures;
  readonly stalls: StallFigures;
  /** How many versions of records the servers have shown to the processes. */
  readonly shownVersions: number;
  readonly journals: JournalFigures;
  readonly gaps: {
    readonly withFaults: Quantiles;
    readonly withoutFaults: Quantiles;
    readonly longest: Gap | undefined;
  };
  /** From the beginning of a calm until a holder acted, the longest first. */
  readonly recoveriesMs: readonly number[];
}

/**
 * Finds the violations in a history, from nothing but its entries.
 *
 * @throws Error if it doesn't begin with its setting
 */
export function checkHistory(entries: Iterable<Entry>): Verdict {
  const iterator = entries[Symbol.iterator]();
  const setting = settingOf(iterator);
  const faultCheck = new FaultCheck();
  const versions = new RecordVersions();
  const holdCheck = new HoldCheck(setting.journals, versions);
  const termCheck = new TermCheck(versions);
  const journalCheck = new JournalCheck();
  const stallCheck = new StallCheck(setting);
  const events = new JournalEvents();
  const checks = [faultCheck, versions, holdCheck, termCheck, journalCheck, stallCheck, events];
  for (let next = iterator.next(); !next.done; next = iterator.next())
    for (const check of checks) check.see(next.value);
  const faults = faultCheck.conclude();
  const [holds, terms, journals, stalls] = [
    holdCheck.conclude(),
    termCheck.conclude(),
    journalCheck.conclude(),
    stallCheck.conclude(faults.figures),
  ];
  const recoveries = recoveriesOf(setting, faults.figures, holds.figures.holds, events);
  const violations = [faults, holds, terms, journals, stalls, recoveries].flatMap((each) => each.violations);
  return {
    setting,
    violations,
    faults: faults.figures,
    holds: holds.figures,
    terms: terms.figures,
    stalls: stalls.figures,
    shownVersions: versions.count,
    journals: journals.figures,
    gaps: divide(setting, holds.figures, faults.figures),
    recoveriesMs: recoveries.recoveriesMs,
  };
}

function divide({ journals }: Setting, { holds }: HoldFigures, { periods }: FaultFigures) {
  const gaps = journals.filter(({ kind }) => kind === 'election').flatMap((each) => gapsOf(each, holds));
  const isNear = (gap: Gap) => hasFaultNear(gap, periods);
  return {
    withFaults: quantilesOf(gaps.filter(isNear)),
    withoutFaults: quantilesOf(gaps.filter((gap) => !isNear(gap))),
    longest: gaps.toSorted((a, b) => b.to - b.from - (a.to - a.from))[0],
  };
}

function settingOf(entries: Iterator<Entry>): Setting {
  const first = entries.next();
  if (!first.done && first.value.kind === 'setting') return first.value;
  throw new Error('this is no history of a run: expected its setting as the first entry');
}
