/** Made by a plugin of the bundler, from this folder: see `scripts/build/page.mjs`. */
declare module 'conclave:page' {
  export const html: string;
  export const csp: string;
}
