/** An action that a visitor asks the server for. */
export type Action =
  | { readonly kind: 'resign' | 'revoke'; readonly path: string; readonly leader: NamedNode }
  | { readonly kind: 'hand-over'; readonly path: string; readonly leader: NamedNode; readonly to: NamedNode }
  | {
      readonly kind: 'move' | 'pin' | 'unpin';
      readonly path: string;
      readonly shard: string;
      readonly member: string;
    };

/** A candidate. The visitor sees its id, which others may have, too. The server gets its node. */
export interface NamedNode {
  readonly id: string;
  readonly node: string;
}

interface Answer {
  readonly ok?: boolean;
  readonly error?: { readonly message?: string };
}

/**
 * Sends an action. Resolves when the server has carried it out.
 *
 * @param graceMs - how long the leader may take to settle its work; without it the server's setting counts
 * @throws Error with the server's message if it refuses, and if the page can't reach the server
 */
export async function carryOut(baseUrl: string, action: Action, graceMs?: number): Promise<void> {
  const { folder, body } = requestOf(action, graceMs);
  const url = `${baseUrl}api/${folder}/${encodeURIComponent(action.path)}/${action.kind}`;
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const answer: Answer | null = await response.json().catch(() => null); // A proxy may have answered.
  if (answer?.ok === true) return;
  const { status, statusText } = response;
  throw new Error(answer?.error?.message ?? `The server answered ${status} ${statusText}`.trim());
}

function requestOf(action: Action, graceMs: number | undefined) {
  switch (action.kind) {
    case 'resign':
    case 'revoke':
      return { folder: 'elections', body: { leader: action.leader.node, graceMs } };
    case 'hand-over':
      return { folder: 'elections', body: { leader: action.leader.node, to: action.to.node } };
    case 'unpin':
      return { folder: 'groups', body: { shard: action.shard } };
    case 'move':
    case 'pin':
      return { folder: 'groups', body: { shard: action.shard, member: action.member } };
  }
}
