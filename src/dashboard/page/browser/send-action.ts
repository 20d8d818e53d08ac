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

export interface ActionOptions {
  /** How long the leader may take to settle its work. @default the server's setting */
  readonly graceMs?: number;
}

/**
 * Sends an action. Resolves when the server has carried it out.
 *
 * @throws Error with the server's message if it refuses, and if the page can't reach the server
 */
export async function carryOut(baseUrl: string, action: Action, options: ActionOptions): Promise<void> {
  const { folder, body } = requestOf(action, options);
  const url = `${baseUrl}api/${folder}/${encodeURIComponent(action.path)}/${action.kind}`;
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const answer: unknown = await response.json().catch(() => undefined);
  if (isAnswer(answer) && answer.ok === true) return;
  const message = isAnswer(answer) ? answer.error?.message : undefined;
  throw new Error(message ?? `The server answered ${response.status} ${response.statusText}`.trim());
}

function requestOf(action: Action, { graceMs }: ActionOptions) {
  const grace = graceMs === undefined ? {} : { graceMs };
  switch (action.kind) {
    case 'resign':
    case 'revoke':
      return { folder: 'elections', body: { leader: action.leader.node, ...grace } };
    case 'hand-over':
      return { folder: 'elections', body: { leader: action.leader.node, to: action.to.node } };
    case 'unpin':
      return { folder: 'groups', body: { shard: action.shard } };
    case 'move':
    case 'pin':
      return { folder: 'groups', body: { shard: action.shard, member: action.member } };
  }
}

function isAnswer(value: unknown): value is { ok?: boolean; error?: { message?: string } } {
  return typeof value === 'object' && value !== null;
}
