import { type MetricsSnapshot, type Sample, type Series, samplesOf } from '../model/measurements.js';
import { FAMILIES, FAMILY_NAMES, type FamilyName } from '../model/metric-families.js';

/** The media type of the text that {@link prometheusText} returns. */
export const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** The metrics in Prometheus's text format, version 0.0.4. */
export function prometheusText(snapshot: MetricsSnapshot): string {
  const lines = FAMILY_NAMES.flatMap((name) => familyLines(name, snapshot.get(name) ?? []));
  return lines.map((line) => `${line}\n`).join('');
}

function familyLines(name: FamilyName, all: readonly Series[]): string[] {
  if (all.length === 0) return [];
  const { type, help } = FAMILIES[name];
  return [
    `# HELP ${name} ${escapeHelp(help)}`,
    `# TYPE ${name} ${type}`,
    ...all.flatMap((series) => samplesOf(name, series)).map((sample) => line(name, sample)),
  ];
}

function line(name: FamilyName, { ending, labels, value }: Sample): string {
  const shown = Object.entries(labels).map(([label, of]) => `${label}="${escapeValue(String(of))}"`);
  return `${name}${ending}${shown.length === 0 ? '' : `{${shown.join(',')}}`} ${value}`;
}

/** Escapes line breaks, because a help text ends at the end of its line. */
export function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

/** Also escapes quotation marks, because a label's value stands between them. */
export function escapeValue(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"');
}
