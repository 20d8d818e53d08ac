import { endsWithTest } from '../vitest/test-end.js';
import { type Dialogue, startFakeServer as start } from './fake-server.mjs';

/** A fake server that ends with the test. */
export async function startFakeServer(dialogue: Dialogue): ReturnType<typeof start> {
  return endsWithTest(await start(dialogue));
}
