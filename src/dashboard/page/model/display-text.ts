import type { NextView, TermView } from '../../api-types.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const numbers = new Intl.NumberFormat('en');
/** The Swedish format is that of ISO 8601: `2026-11-30 21:00:00`. */
const times = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'medium' });

/** A duration in at most two units: `3 d 4 h`, `12 min 5 s`, `320 ms`. */
export function durationText(ms: number): string {
  const rounded = Math.max(0, Math.round(ms));
  if (rounded < SECOND) return `${rounded} ms`;
  if (rounded < 10 * SECOND) return `${(Math.floor(rounded / 100) / 10).toFixed(1)} s`;
  if (rounded < MINUTE) return `${Math.floor(rounded / SECOND)} s`;
  if (rounded < HOUR) return twoUnits(rounded, MINUTE, 'min', SECOND, 's');
  if (rounded < DAY) return twoUnits(rounded, HOUR, 'h', MINUTE, 'min');
  return twoUnits(rounded, DAY, 'd', HOUR, 'h');
}

/** Like {@link durationText}, but below a minute in whole seconds: for times that count up on the page. */
export function ageText(ms: number): string {
  return ms < MINUTE ? `${Math.max(0, Math.floor(ms / SECOND))} s` : durationText(ms);
}

function twoUnits(ms: number, large: number, largeName: string, small: number, smallName: string): string {
  const rest = Math.floor((ms % large) / small);
  return `${numbers.format(Math.floor(ms / large))} ${largeName}${rest === 0 ? '' : ` ${rest} ${smallName}`}`;
}

/** The time of day in the reader's time zone, with the date if `at` is on another day and more than 12 hours from `now`. */
export function timeText(at: number, now: number): string {
  const [date, clock] = times.format(at).split(' ') as [string, string];
  const isNear = Math.abs(now - at) < 12 * HOUR || times.format(now).startsWith(date);
  return isNear ? clock : `${date} ${clock}`;
}

/** `1 election`, `4,096 elections`. */
export function countText(count: number, one: string, many = `${one}s`): string {
  return `${numbers.format(count)} ${count === 1 ? one : many}`;
}

export function numberText(count: number): string {
  return numbers.format(count);
}

/** A path without the root's path before it. */
export function nameOf(path: string, root: string): string {
  const prefix = root.endsWith('/') ? root : `${root}/`;
  return path.startsWith(prefix) && path.length > prefix.length ? path.slice(prefix.length) : path;
}

export const END_TEXT: Readonly<Record<NonNullable<TermView['end']>, string>> = {
  released: 'released, without a successor',
  'handed-over': 'handed over',
  'taken-over': 'taken over: the leader was silent for longer than its lease',
  'session-ended': 'its session ended without a release',
  unknown: 'unknown',
};

export const WHY_TEXT: Readonly<Record<NextView['why'], string>> = {
  queue: 'first in the queue',
  priority: 'highest priority',
  named: 'named by the leader',
};

/**
 * Characters that a reader can't see, or that change how other text looks: control characters, marks and overrides of the
 * writing direction, spaces without width, tags, and halves of surrogate pairs. The joiners U+200C and U+200D aren't among them,
 * because emoji and names in some scripts need them.
 */
const INVISIBLE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression is for control characters.
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|\u034f|[\u{e0000}-\u{e0fff}]|\p{Cs}/gu;
const CONTROL_PICTURES = 0x2400;
const DELETE = 0x7f;
const PICTURE_OF_DELETE = '\u2421';

/** Replaces each invisible character by a picture of it or by its number, such as `[U+202E]`. */
export function visibleText(text: string): string {
  return text.replace(INVISIBLE, (character) => {
    const code = character.codePointAt(0) as number;
    if (code < 0x20) return String.fromCodePoint(CONTROL_PICTURES + code);
    if (code === DELETE) return PICTURE_OF_DELETE;
    return `[U+${code.toString(16).toUpperCase().padStart(4, '0')}]`;
  });
}

/** The text, cut after at most `most` UTF-16 units, but never within a surrogate pair. */
export function shortened(text: string, most: number): string {
  if (text.length <= most) return text;
  const cut = text.slice(0, most);
  const isHalf = /[\ud800-\udbff]$/.test(cut);
  return `${isHalf ? cut.slice(0, -1) : cut}…`;
}
