import { describe, expect, it } from 'vitest';
import { withBuiltins } from './inlined.mjs';

describe('a dependency that is inlined', () => {
  it("gets Node's modules by a call that bundlers leave alone, and other modules as before", () => {
    const code = `var fs = require('fs'), b = require("node:net"), c = require('./own'), d = require('other');`;
    expect(withBuiltins(code)).toBe(
      `var fs = process.getBuiltinModule('fs'), b = process.getBuiltinModule('node:net'), c = require('./own'), d = require('other');`,
    );
  });
});
