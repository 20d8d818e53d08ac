import { EXIT } from './exit-codes.js';
import { UserError } from './user-error.js';

/** The error for a server that couldn't listen. */
export function asListenError(
  cause: NodeJS.ErrnoException,
  { host, port }: { readonly host: string; readonly port: number },
): Error {
  const reasons: Record<string, string> = {
    EADDRINUSE: 'is in use. Give another one with --port, or --port 0 for any free port.',
    EACCES: 'may not be used by this user. Give one over 1023 with --port, or --port 0 for any free port.',
    EADDRNOTAVAIL: 'is not available: this machine does not have the address. Give another one with --host.',
  };
  const reason = reasons[cause.code ?? ''];
  if (reason === undefined) return cause;
  return new UserError(EXIT.unavailable, `port ${port} of ${host} ${reason}`, { cause });
}
