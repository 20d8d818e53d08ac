import { expect, it } from 'vitest';
import { withBuiltins } from './inlined.mjs';

it("a dependency that is inlined gets Node's modules by a call that bundlers leave alone, and other modules as before", () => {
  const code = `var fs = require('fs'), b = require("node:net"), c = require('./own'), d = require('other');`;
  expect(withBuiltins(code)).toBe(
    `var fs = process.getBuiltinModule('fs'), b = process.getBuiltinModule('node:net'), c = require('./own'), d = require('other');`,
  );
});
