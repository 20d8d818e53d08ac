// What the modules of Conclave import: all errors, which are public, and what their messages show of values.
export * from './base-errors.js';
export * from './error-classes.js';
export * from './public-class/shown-in-messages.js';
