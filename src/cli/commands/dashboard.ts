import { createHash, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import type { Command } from 'commander';
import type { DashboardHandler, dashboard as openDashboard } from '../../dashboard/index.js';
import { describe } from '../../errors.js';
import { ignore } from '../../platform/async/promises.js';
import { collected, portOption } from '../options/argument-parsers.js';
import {
  type ConnectionOptions,
  DURATIONS,
  targetOf,
  withConnection,
} from '../options/connection-options.js';
import { asListenError, EXIT, orUserError, UserError } from '../process/exit-codes.js';
import { print } from '../process/output.js';
import { untilSignal } from '../process/stop-signals.js';

interface DashboardOptions extends ConnectionOptions {
  readonly root: string;
  readonly host: string;
  readonly port: number;
  readonly tokenFile?: string;
  readonly allowHost?: readonly string[];
}

const LOOPBACK = ['127.0.0.1', '::1', 'localhost'];

const DESCRIPTION = `Serves a page that shows all elections, locks and groups of shards below a path, live: the leaders and since when they lead, \
the next candidates, past events, and the role of each server. Prints its address as the only line on standard output. Stops on \
SIGINT (Ctrl+C), SIGTERM or SIGHUP.

Without --token-file the page is read-only, and for this machine only. With a token file, visitors that have the token may see the page from \
other machines, and act: end terms, hand them over, move and pin shards. A browser asks for the token as a password, with any user name. The \
connection isn't encrypted: put a reverse proxy with TLS in front of it.`;

const MORE_HELP = `
${DURATIONS}

Exits with 0 after a signal has stopped it, 64 if the command line is wrong, 69
if the port isn't available.

Examples:
  conclave dashboard --root /elections
  conclave dashboard --host 0.0.0.0 --allow-host ops.example.com --token-file /run/secrets/ui`;

/** `conclave dashboard`: serves the page. */
export function addDashboard(program: Command): void {
  const command = program
    .command('dashboard')
    .summary('serve a page that shows elections, locks and shards')
    .description(DESCRIPTION);
  withConnection(command)
    .option('--root <path>', 'show this node and everything below it', '/elections')
    .option('--host <address>', 'local address to listen on', '127.0.0.1')
    .addOption(portOption(7070))
    .option(
      '--token-file <file>',
      'a file with a token of at least 16 characters; each visitor has to give the token',
    )
    .option(
      '--allow-host <name>',
      'another name, as host or host:port, under which visitors may reach the page, besides the names of this machine. May be given several times',
      collected,
    )
    .addHelpText('after', MORE_HELP)
    .action(serve);
}

async function serve(options: DashboardOptions): Promise<void> {
  const { host, port, tokenFile } = options;
  if (tokenFile === undefined && !LOOPBACK.includes(host))
    throw new UserError(
      EXIT.usage,
      `--host ${host}: other machines may see the page only with a token. Give --token-file.`,
    );
  if (tokenFile === undefined && options.allowHost !== undefined)
    throw new UserError(EXIT.usage, '--allow-host works only with --token-file. Give both.');
  const stopped = untilSignal();
  // Loaded here: no other command needs them.
  const [{ createServer }, { dashboard, toNodeListener }] = await Promise.all([
    import('node:http'),
    import('../../dashboard/index.js'),
  ]);
  const handler = orUserError(() => openWith(dashboard, options));
  const server = createServer(toNodeListener(handler)).on('error', ignore); // One connection that fails isn't the end of the page.
  try {
    await once(server.listen({ host, port }), 'listening').catch((cause) => {
      throw asListenError(cause, options);
    });
    print(urlOf(server.address() as AddressInfo));
    await stopped;
    server.close();
  } finally {
    await handler.close();
    server.closeAllConnections();
  }
}

/** @param dashboard - the function of conclave/dashboard */
function openWith(dashboard: typeof openDashboard, options: DashboardOptions): DashboardHandler {
  const { root, tokenFile } = options;
  const { connect, session } = targetOf(options);
  if (tokenFile === undefined) return dashboard({ connect, session, root });
  const token = readToken(tokenFile);
  const refused = new WeakSet<Request>();
  const authorize = (request: Request) => {
    if (showsToken(request.headers.get('authorization'), token)) return 'act';
    refused.add(request);
    return false;
  };
  const handler = dashboard({ connect, session, root, hosts: hostsOf(options), authorize });
  const answer = async (...[request, visitor]: Parameters<DashboardHandler>) => {
    const response = await handler(request, visitor);
    return refused.has(request) ? withChallenge(response) : response;
  };
  return Object.assign(answer, { close: handler.close });
}

/** The names by which visitors reach the page, besides those of this machine. */
function hostsOf({ host, allowHost = [] }: DashboardOptions): readonly string[] {
  if (host === '0.0.0.0' || host === '::') return allowHost;
  return [host.includes(':') ? `[${host}]` : host, ...allowHost];
}

/** Makes a browser ask for the token. The dashboard refuses without a challenge, as an application that has a login needs it. */
function withChallenge({ body, headers }: Response): Response {
  const challenge = { 'www-authenticate': 'Basic realm="Conclave", charset="UTF-8"' };
  return new Response(body, { status: 401, headers: { ...Object.fromEntries(headers), ...challenge } });
}

function urlOf({ address, family, port }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}/`;
}

const LEAST_CHARACTERS = 16;

/** The token in a file: its first line. @throws UserError if it can't be read, or is too short */
export function readToken(file: string): string {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new UserError(EXIT.usage, `--token-file: ${describe(error)}`, { cause: error });
  }
  const token = (text.split('\n')[0] as string).trim();
  if (token.length >= LEAST_CHARACTERS) return token;
  throw new UserError(
    EXIT.usage,
    `--token-file: expected a token of at least ${LEAST_CHARACTERS} characters.`,
  );
}

/** Whether a request has the token: as a bearer token, or as the password of any user, which is what browsers ask for. */
export function showsToken(authorization: string | null, token: string): boolean {
  const [, scheme = '', value = ''] = /^(bearer|basic) +(\S+)$/i.exec(authorization?.trim() ?? '') ?? [];
  if (scheme.toLowerCase() === 'bearer') return isSame(value, token);
  const [, password] = /^[^:]*:(.*)$/s.exec(Buffer.from(value, 'base64').toString('utf8')) ?? [];
  return password !== undefined && isSame(password, token);
}

/** Takes the same time for any two texts, so that the time doesn't tell where they differ. */
function isSame(one: string, other: string): boolean {
  return timingSafeEqual(digest(one), digest(other));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
