/**
 * The name that was probably meant by one that doesn't exist; `undefined` if none is near. Upper and lower case, and a unit at the end
 * (`Ms`), make no difference. If several names are equally near, the first one counts.
 */
export function nearestName(given: string, names: readonly string[]): string | undefined {
  const wanted = simplified(given);
  let [nearest, least] = [undefined as string | undefined, mostEdits(wanted) + 1];
  for (const name of names) {
    const possible = simplified(name);
    const isBeginning = wanted.length >= LEAST_BEGINNING && possible.startsWith(wanted);
    const edits = isBeginning && possible !== wanted ? 1 : editsBetween(wanted, possible);
    if (edits < least) [nearest, least] = [name, edits];
  }
  return nearest;
}

const LEAST_BEGINNING = 4; // How many characters of a name stand for all of it, as `prio` for `priority`.

function simplified(name: string): string {
  return name.toLowerCase().replace(/(?<=.)ms$/, '');
}

/** A short name becomes another one with a single edit, as `id` and `ip`. */
function mostEdits({ length }: string): number {
  if (length < 4) return 0;
  return length < 8 ? 1 : 2;
}

const LONGEST = 40; // Longer than any option's name. The work grows with the product of both lengths.

/** How many characters have to be inserted, deleted, changed or swapped with the next one, to make one text the other. */
function editsBetween(one: string, other: string): number {
  if (one.length > LONGEST) return Number.POSITIVE_INFINITY;
  let beforeLast: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let i = 1; i <= one.length; i++) {
    const row = [i];
    for (let j = 1; j <= other.length; j++) {
      const change = (last[j - 1] as number) + Number(one[i - 1] !== other[j - 1]);
      row[j] = Math.min(change, (last[j] as number) + 1, (row[j - 1] as number) + 1);
      const isSwapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      if (isSwapped) row[j] = Math.min(row[j] as number, (beforeLast[j - 2] as number) + 1);
    }
    [beforeLast, last] = [last, row];
  }
  return last[other.length] as number;
}
