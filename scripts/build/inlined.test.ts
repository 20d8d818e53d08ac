import { describe, expect, it } from 'vitest';
import { withBuiltins } from './inlined.mjs';

describe('a dependency that is inlined', () => {
  it("gets what is Node's own by a call that no bundler looks into, and the rest as before", () => {
    const code = `var fs = require('fs'), b = require("node:net"), c = require('./own'), d = require('other');`;
    expect(withBuiltins(code)).toBe(
      `var fs = process.getBuiltinModule('fs'), b = process.getBuiltinModule('node:net'), c = require('./own'), d = require('other');`,
    );
  });
});
