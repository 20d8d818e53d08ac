import { InvalidOptionError } from '../errors.js';
import { dateAt } from '../platform/time/timers.js';

/** The part of a node-cron task that says when it fires. */
export interface Schedule {
  /** Whether the task's expression matches this second, in the task's time zone. */
  match(date: Date): boolean;
  /** The next times at which it fires. */
  getNextRuns(count: number): Date[];
}

/** A half-open span: later than `after`, up to and including `upTo`, in milliseconds since 1970. */
export interface Span {
  readonly after: number;
  readonly upTo: number;
}

/** Returns how far local time is ahead of UTC at an instant, in milliseconds. */
export type OffsetAt = (ms: number) => number;

const SECOND = 1000;
const MINUTE = 60 * SECOND;
/** In minutes. Today's offsets of all time zones are multiples of it, so a minute modulo this number is the same in every zone. */
const QUARTER = 15;
/** After this many questions to node-cron, which take some 20 µs each, the caller may let other work run. */
const QUESTIONS_BETWEEN_PAUSES = 100;
/** With three firings, at least one isn't on a day that lacks an hour. */
const SAMPLES = 3;

/**
 * Yields the past firings of a task, the latest first, and `undefined` now and then, when the caller should let other work run.
 *
 * node-cron gives only future firings, and says whether an expression matches an instant. So this function asks it about each
 * minute that may match. At the end of summer time an hour of local time comes twice, and node-cron's expression matches in
 * both. `offsetAt` shows in which of the two node-cron fires.
 */
export function* pastFirings(
  schedule: Schedule,
  { after, upTo }: Span,
  offsetAt: OffsetAt,
): Generator<number | undefined, void> {
  const { seconds, residues } = secondsAndMinutesOf(schedule);
  const [anySecond] = seconds;
  if (anySecond === undefined) return;
  const first = Math.floor(after / MINUTE);
  let questions = 0;
  for (let minute = Math.floor(upTo / MINUTE); minute >= first; minute--) {
    if (!residues.has(minute % QUARTER)) continue;
    if (++questions % QUESTIONS_BETWEEN_PAUSES === 0) yield undefined;
    const start = minute * MINUTE;
    if (!schedule.match(dateAt(start + anySecond))) continue;
    for (const second of seconds) {
      const at = start + second;
      if (at > after && at <= upTo && firesAt(at, offsetAt)) yield at;
    }
  }
}

/** The seconds within a minute at which the task fires, in milliseconds, the last first, and its minutes modulo a quarter of an hour. */
function secondsAndMinutesOf(schedule: Schedule): { seconds: number[]; residues: Set<number> } {
  const samples = schedule.getNextRuns(SAMPLES).map((date) => date.getTime());
  const [sample] = samples;
  if (sample === undefined) return { seconds: [], residues: new Set() };
  const minuteOfSample = Math.floor(sample / MINUTE) * MINUTE;
  const seconds = Array.from({ length: 60 }, (_, second) => (59 - second) * SECOND);
  const residues = new Set<number>();
  // Looks an hour to both sides, because an hour of local time may begin in the middle of an hour of UTC.
  for (const at of samples)
    for (let minutes = -59; minutes <= 59; minutes++)
      if (schedule.match(dateAt(at + minutes * MINUTE)))
        residues.add((Math.floor(at / MINUTE) + minutes) % QUARTER);
  return { seconds: seconds.filter((ms) => schedule.match(dateAt(minuteOfSample + ms))), residues };
}

/**
 * Whether node-cron fires at an instant that its expression matches. node-cron turns a local time into an instant with the
 * offset that is valid when UTC shows this time. If the result doesn't have that local time, it uses the offset of the result.
 */
export function firesAt(at: number, offsetAt: OffsetAt): boolean {
  const local = at + offsetAt(at);
  const offset = offsetAt(local);
  const instant = local - offset;
  if (instant === at) return true;
  const offsetThen = offsetAt(instant);
  return offsetThen !== offset && local - offsetThen === at;
}

/**
 * The offsets of a time zone, given its IANA name. Without a name: the offsets of the machine's time zone.
 * @throws InvalidOptionError if there is no such time zone
 */
export function offsetsOf(timezone: string | undefined): OffsetAt {
  const format = formatOf(timezone);
  return (ms) => {
    const part: Record<string, number> = {};
    for (const { type, value } of format.formatToParts(ms)) part[type] = Number(value);
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = part;
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(ms / SECOND) * SECOND;
  };
}

function formatOf(timezone: string | undefined): Intl.DateTimeFormat {
  const digits = { month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', second: '2-digit' };
  try {
    return new Intl.DateTimeFormat('en-US', {
      ...(digits as Intl.DateTimeFormatOptions),
      year: 'numeric',
      hourCycle: 'h23',
      timeZone: timezone,
    });
  } catch {
    throw new InvalidOptionError('timezone', timezone, 'the name of a time zone, such as Europe/Berlin');
  }
}
