import { readFileSync } from 'node:fs';

/** The files for TLS, in PEM. Each process that connects reads them itself, again before each round of servers. */
export interface TlsFiles {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

/** @throws the system's error if one of them can't be read */
export function readTls({ ca, cert, key }: TlsFiles) {
  return { ca: read(ca), cert: read(cert), key: read(key) };
}

function read(file: string | undefined): Buffer | undefined {
  return file === undefined ? undefined : readFileSync(file);
}
