/** A plugin of the bundler makes this module from this folder: see `scripts/build/page.mjs`. */
declare module 'conclave:page' {
  export const html: string;
  export const csp: string;
}
