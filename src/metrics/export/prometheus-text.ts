import { countOf, type Labels, type MetricsSnapshot, type Series } from '../model/measurements.js';
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
    ...all.flatMap((series) => seriesLines(name, series)),
  ];
}

function seriesLines(name: FamilyName, { labels, value }: Series): string[] {
  if (typeof value === 'number') return [line(name, labels, value)];
  const bounds = [...(FAMILIES[name].buckets ?? []).map(String), '+Inf'];
  let sum = 0;
  const buckets = bounds.map((le, index) => {
    sum += value.counts[index] ?? 0;
    return line(`${name}_bucket`, { ...labels, le }, sum);
  });
  return [...buckets, line(`${name}_sum`, labels, value.sum), line(`${name}_count`, labels, countOf(value))];
}

function line(name: string, labels: Labels, value: number): string {
  const shown = Object.entries(labels).map(([label, of]) => `${label}="${escapeValue(of)}"`);
  return `${name}${shown.length === 0 ? '' : `{${shown.join(',')}}`} ${value}`;
}

/** Escapes line breaks, because a help text ends at the end of its line. */
export function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

/** Also escapes quotation marks, because a label's value stands between them. */
export function escapeValue(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"');
}
