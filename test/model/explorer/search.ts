/** One of the steps that a state allows: its name, and the state after it. */
export type Next<State> = readonly [what: string, state: State];

export interface Exploration {
  readonly states: number;
  /** The steps to the first state in which a promise is broken. */
  readonly broken?: readonly string[];
}

/** What is to be searched. */
export interface Searched<State> {
  readonly first: State;
  /** A short name of a state. */
  key(state: State): string;
  stepsOf(state: State): readonly Next<State>[];
  /** What is wrong in a state, if anything is. */
  brokenPromise(state: State): string | undefined;
}

/** Visits all states, breadth first, or up to the first in which a promise is broken. */
export function search<State>({ first, key, stepsOf, brokenPromise }: Searched<State>): Exploration {
  const visited = new Map<string, { readonly from?: string; readonly what: string }>();
  const start = key(first);
  visited.set(start, { what: 'it begins' });
  let layer: (readonly [string, State])[] = [[start, first]];
  while (layer.length > 0) {
    const next: (readonly [string, State])[] = [];
    for (const [from, state] of layer) {
      for (const [what, reached] of stepsOf(state)) {
        const to = key(reached);
        if (visited.has(to)) continue;
        visited.set(to, { from, what });
        const broken = brokenPromise(reached);
        if (broken !== undefined) return { states: visited.size, broken: [...pathTo(visited, to), broken] };
        next.push([to, reached]);
      }
    }
    layer = next;
  }
  return { states: visited.size };
}

function pathTo(
  visited: ReadonlyMap<string, { readonly from?: string; readonly what: string }>,
  to: string,
): string[] {
  const steps: string[] = [];
  for (let at: string | undefined = to; at !== undefined; ) {
    const step = visited.get(at);
    if (step === undefined) break;
    steps.unshift(step.what);
    at = step.from;
  }
  return steps;
}
