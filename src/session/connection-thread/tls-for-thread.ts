import type { TlsOptions } from '../connection/tcp-and-tls.js';

/**
 * The options as the main thread would use them. The process's settings of TLS (options of Node, or what the application has set) belong to
 * a thread, and the other one has them as Node is built. It makes a context of its own.
 */
export function tlsForThread({ secureContext: _, ...given }: TlsOptions): TlsOptions {
  const tls = process.getBuiltinModule('node:tls');
  const { DEFAULT_MIN_VERSION: minVersion, DEFAULT_MAX_VERSION: maxVersion } = tls;
  return {
    ciphers: tls.DEFAULT_CIPHERS,
    ecdhCurve: tls.DEFAULT_ECDH_CURVE,
    rejectUnauthorized: process.env['NODE_TLS_REJECT_UNAUTHORIZED'] !== '0',
    ...(given.secureProtocol === undefined && { minVersion, maxVersion }), // Node refuses versions beside it.
    ...defaultAuthorities(tls),
    ...given,
  };
}

/**
 * Before Node 22.19 and 24.5 an application can't change them. With --use-openssl-ca Node doesn't list them, and that option counts for
 * all threads.
 */
function defaultAuthorities(tls: object): Pick<TlsOptions, 'ca'> {
  const { getCACertificates, setDefaultCACertificates } = tls as {
    getCACertificates?(type: 'default'): string[];
    setDefaultCACertificates?: unknown;
  };
  const areOpenSsls = `${process.execArgv} ${process.env['NODE_OPTIONS']}`.includes('--use-openssl-ca');
  if (setDefaultCACertificates === undefined || areOpenSsls) return {};
  return { ca: getCACertificates?.('default') };
}
