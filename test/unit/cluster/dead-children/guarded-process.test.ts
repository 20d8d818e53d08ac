import { describe, expect, it } from 'vitest';
import {
  GuardedProcess,
  MOST_ELECTIONS,
  MOST_SESSIONS,
} from '../../../../src/cluster/dead-children/guarded-process.js';
import type { ChildMessage } from '../../../../src/cluster/dead-children/guardian-messages.js';

const credentials = { id: 7n, password: Buffer.alloc(16, 1) };
const opened: ChildMessage = { kind: 'opened', session: '0x7', credentials, timeoutMs: 6000 };
const claim = { record: '/e', version: 3, term: 2, node: '/e/n' };
const leads: ChildMessage = { kind: 'leads', session: '0x7', election: '/e', claim };
const waits: ChildMessage = { kind: 'waits', session: '0x7', election: '/e' };

function afterReceiving(...messages: ChildMessage[]): GuardedProcess {
  const known = new GuardedProcess();
  for (const message of messages) known.receive(message);
  return known;
}

describe('what a guardian knows of a process', () => {
  it('is each session, and what is led with it', () => {
    const known = afterReceiving(opened, waits, leads);
    expect(known.role).toBe('leading');
    expect(known.openSessions()).toEqual([
      { session: '0x7', credentials, timeoutMs: 6000, claims: [claim], waits: [], members: [] },
    ]);
  });

  it('is one claim for each election, the last one', () => {
    const other = { ...claim, record: '/f', node: '/f/n' };
    const later = { ...claim, version: 5, term: 3 };
    const known = afterReceiving(
      opened,
      leads,
      { ...leads, election: '/f', claim: other } as ChildMessage,
      { ...leads, claim: later } as ChildMessage,
    );
    expect(known.openSessions()[0]?.claims).toEqual([later, other]);
  });

  it('is no claim of a term that was given back', () => {
    const known = afterReceiving(opened, leads, waits);
    expect(known.role).toBe('waiting');
    expect(known.openSessions()[0]?.claims).toEqual([]);
  });

  it('is no place in an election that was left', () => {
    const known = afterReceiving(opened, leads, { kind: 'left', session: '0x7', election: '/e' });
    expect(known.role).toBe('none');
    expect(known.openSessions()).toHaveLength(1);
  });

  it('is nothing of a session that is over, or was never opened', () => {
    expect(afterReceiving(opened, leads, { kind: 'over', session: '0x7' }).openSessions()).toEqual([]);
    expect(afterReceiving(leads, waits).openSessions()).toEqual([]);
  });

  it('begins anew when everything is sent again', () => {
    const known = afterReceiving(opened, leads, opened);
    expect(known.openSessions()[0]?.claims).toEqual([]);
  });

  it('is no more sessions than so many, until one is over', () => {
    const known = new GuardedProcess();
    const nth = (index: number): ChildMessage => ({ ...opened, session: `0x${index.toString(16)}` });
    for (let index = 0; index < MOST_SESSIONS; index++) expect(known.receive(nth(index))).toBe(true);
    expect(known.receive(nth(MOST_SESSIONS))).toBe(false);
    expect(known.has('0x100')).toBe(false);
    expect(known.receive(nth(0))).toBe(true); // The child reports it again.
    known.receive({ kind: 'over', session: '0x1' });
    expect(known.receive(nth(MOST_SESSIONS))).toBe(true);
    expect(known.openSessions()).toHaveLength(MOST_SESSIONS);
  });

  it('is no more elections than so many, whichever their sessions', () => {
    const other = { ...opened, session: '0x8' };
    const known = afterReceiving(opened, other);
    const nth = (index: number): ChildMessage => {
      return { kind: 'waits', session: index % 2 === 0 ? '0x7' : '0x8', election: `/e${index}` };
    };
    for (let index = 0; index < MOST_ELECTIONS; index++) expect(known.receive(nth(index))).toBe(true);
    expect(known.receive(nth(MOST_ELECTIONS))).toBe(false);
    expect(known.receive(nth(0))).toBe(true);
    known.receive({ kind: 'left', session: '0x8', election: '/e1' });
    expect(known.receive(nth(MOST_ELECTIONS))).toBe(true);
  });
});
