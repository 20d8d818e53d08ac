import { expect, it } from 'vitest';
import { takingUndefined } from './option-types.mjs';

it('an option that may be left out may be undefined, which did not compile with exactOptionalPropertyTypes', () => {
  const code =
    'interface AOptions {\n  readonly a?: () => void;\n  b: string;\n}\ninterface Other {\n  a?: string;\n}\n';
  expect(takingUndefined(code)).toBe(code.replace('() => void', '(() => void) | undefined'));
});
