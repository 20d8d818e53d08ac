import { describe, expect, it } from 'vitest';
import {
  GuardedProcess,
  MOST_ELECTIONS,
  MOST_SESSIONS,
} from '../../../../src/cluster/guardian/guarded-process.js';
import type { ChildMessage } from '../../../../src/cluster/guardian/guardian-messages.js';

const credentials = { id: 7n, password: Buffer.alloc(16, 1) };
const opened: ChildMessage = { kind: 'opened', session: '0x7', credentials, timeoutMs: 6000 };
const deed = { record: '/e', version: 3, term: 2, node: '/e/n' };
const leads: ChildMessage = { kind: 'leads', session: '0x7', election: '/e', deed };
const waits: ChildMessage = { kind: 'waits', session: '0x7', election: '/e' };

function wardThatHeard(...words: ChildMessage[]): GuardedProcess {
  const ward = new GuardedProcess();
  for (const word of words) ward.hear(word);
  return ward;
}

describe('what a guardian knows of a process', () => {
  it('is nothing at first', () => {
    const ward = new GuardedProcess();
    expect(ward.standing).toBe('none');
    expect(ward.estates()).toEqual([]);
  });

  it('is each session, and what is led with it', () => {
    const ward = wardThatHeard(opened, waits, leads);
    expect(ward.standing).toBe('leading');
    expect(ward.estates()).toEqual([{ session: '0x7', credentials, timeoutMs: 6000, deeds: [deed] }]);
  });

  it('is one deed for each election, the last one', () => {
    const other = { ...deed, record: '/f', node: '/f/n' };
    const later = { ...deed, version: 5, term: 3 };
    const ward = wardThatHeard(
      opened,
      leads,
      { ...leads, election: '/f', deed: other } as ChildMessage,
      { ...leads, deed: later } as ChildMessage,
    );
    expect(ward.estates()[0]?.deeds).toEqual([later, other]);
  });

  it('is no deed of a term that was given back', () => {
    const ward = wardThatHeard(opened, leads, waits);
    expect(ward.standing).toBe('waiting');
    expect(ward.estates()[0]?.deeds).toEqual([]);
  });

  it('is no place in an election that was left', () => {
    const ward = wardThatHeard(opened, leads, { kind: 'left', session: '0x7', election: '/e' });
    expect(ward.standing).toBe('none');
    expect(ward.estates()).toHaveLength(1);
  });

  it('is nothing of a session that is over, or was never opened', () => {
    expect(wardThatHeard(opened, leads, { kind: 'over', session: '0x7' }).estates()).toEqual([]);
    expect(wardThatHeard(leads, waits).estates()).toEqual([]);
  });

  it('begins anew when it is all told again', () => {
    const ward = wardThatHeard(opened, leads, opened);
    expect(ward.estates()[0]?.deeds).toEqual([]);
  });

  it('is no more sessions than so many, until one is over', () => {
    const ward = new GuardedProcess();
    const nth = (index: number): ChildMessage => ({ ...opened, session: `0x${index.toString(16)}` });
    for (let index = 0; index < MOST_SESSIONS; index++) expect(ward.hear(nth(index))).toBe(true);
    expect(ward.hear(nth(MOST_SESSIONS))).toBe(false);
    expect(ward.has('0x100')).toBe(false);
    expect(ward.hear(nth(0))).toBe(true); // Told again.
    ward.hear({ kind: 'over', session: '0x1' });
    expect(ward.hear(nth(MOST_SESSIONS))).toBe(true);
    expect(ward.estates()).toHaveLength(MOST_SESSIONS);
  });

  it('is no more elections than so many, whichever their sessions', () => {
    const other = { ...opened, session: '0x8' };
    const ward = wardThatHeard(opened, other);
    const nth = (index: number): ChildMessage => {
      return { kind: 'waits', session: index % 2 === 0 ? '0x7' : '0x8', election: `/e${index}` };
    };
    for (let index = 0; index < MOST_ELECTIONS; index++) expect(ward.hear(nth(index))).toBe(true);
    expect(ward.hear(nth(MOST_ELECTIONS))).toBe(false);
    expect(ward.hear(nth(0))).toBe(true);
    ward.hear({ kind: 'left', session: '0x8', election: '/e1' });
    expect(ward.hear(nth(MOST_ELECTIONS))).toBe(true);
  });
});
