import { inject } from 'vitest';
import { endsWithTest } from '../vitest/test-end.js';
import { TcpProxy } from './tcp-proxy.mjs';

/** A proxy that ends with the test. Without a target it is in front of the server that all tests share. */
export async function startProxy(
  target: string | number = inject('port') as number,
  options?: Parameters<typeof TcpProxy.start>[1],
): Promise<TcpProxy> {
  return endsWithTest(await TcpProxy.start(target, options));
}
