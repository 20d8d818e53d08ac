import type { Metrics } from '../../src/metrics/metrics.js';

/** Each series of Prometheus's text, with its labels in alphabetical order, and its value. */
export function parseText(text: string): Map<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const [, name, labels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/s.exec(line) ?? [];
      const sorted = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([each]) => each).sort();
      return [`${name}{${sorted.join(',')}}`, Number(value)];
    }),
  );
}

/** Asks for the metrics, and returns a function that looks up the value of a series by its name and some of its labels. */
export async function ask(measured: Pick<Metrics, 'text'>) {
  return lookUp(parseText(await measured.text()));
}

/** Returns a function that looks up one series. It returns `undefined` if there is none, and throws if there are several. */
export function lookUp(all: ReadonlyMap<string, number>) {
  return (name: string, labels: Readonly<Record<string, string>> = {}): number | undefined => {
    const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
    const found = [...all].filter(([series]) => {
      const [of, rest = ''] = series.slice(0, -1).split('{');
      return of === name && wanted.every((each) => rest.split(',').includes(each));
    });
    if (found.length > 1)
      throw new Error(`${found.length} series: ${found.map(([series]) => series).join(' ')}`);
    return found[0]?.[1];
  };
}
