import { createServer, type RequestListener } from 'node:http';
import type { DashboardChange, DashboardState } from '../../../src/dashboard/api-types.js';
import { listening } from '../listening.js';
import { onTestFinished } from '../vitest/test-end.js';
import { until } from '../waiting.mjs';

/** Serves until the test has ended. Returns the address, with a slash at its end. */
export async function serve(listener: RequestListener): Promise<string> {
  return `http://127.0.0.1:${await listening(createServer(listener))}/`;
}

export async function getJson<T>(url: string): Promise<T> {
  const response = await fetch(url);
  if (response.status !== 200) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

/** Acts as a page of the dashboard's own origin does. */
export async function post(
  url: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ status: number; body: Record<string, unknown>; headers: Headers }> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { origin: new URL(url).origin, 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return {
    status: response.status,
    body: (await response.json()) as Record<string, unknown>,
    headers: response.headers,
  };
}

/** A visitor's stream of events, until the test has ended. */
export async function follow(url: string, headers: Readonly<Record<string, string>> = {}) {
  const gone = new AbortController();
  onTestFinished(() => gone.abort());
  const response = await fetch(url, { headers, signal: gone.signal });
  if (response.status !== 200) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  const states: DashboardState[] = [];
  const changes: DashboardChange[] = [];
  let rest = '';
  const decoder = new TextDecoder();
  const ended = (async () => {
    try {
      for await (const chunk of response.body ?? []) {
        rest += decoder.decode(chunk, { stream: true });
        const parts = rest.split('\n\n');
        rest = parts.pop() ?? '';
        for (const part of parts) {
          const [, event, data = ''] = /^event: (.*)\ndata: (.*)$/s.exec(part) ?? [];
          if (event === 'state') states.push(JSON.parse(data) as DashboardState);
          if (event === 'change') changes.push(JSON.parse(data) as DashboardChange);
        }
      }
    } catch (error) {
      if (!gone.signal.aborted) throw error;
    }
  })();
  ended.catch(() => undefined); // The caller that awaits it gets the error.
  await until(() => states.length > 0, 'the first event');
  return { headers: response.headers, states, changes, ended, leave: () => gone.abort() };
}
