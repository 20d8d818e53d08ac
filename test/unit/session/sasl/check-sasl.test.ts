import { describe, expect, it } from 'vitest';
import { checkSasl } from '../../../../src/session/sasl/check-sasl.js';
import { Session } from '../../../../src/session/session.js';
import { refusal } from '../../../support/refusal.js';

const check = (value: unknown, hasMd5?: () => boolean) => checkSasl(value, 'sasl', () => 'nonce', hasMd5);
const right = { username: 'SECRET-user', password: 'SECRET' };

describe('the option sasl', () => {
  it('takes a user with a password, or a mechanism as it is', () => {
    expect(check(right)).toHaveProperty('begin');
    const mechanism = { begin: () => ({ step: () => undefined }), name: 'mine' };
    expect(check(mechanism)).toBe(mechanism);
  });

  it.each<[string, unknown, string]>([
    ['a text', 'SECRET:SECRET', 'sasl'],
    ['nothing', null, 'sasl'],
    ['a list', [right], 'sasl'],
    ['a number', 7, 'sasl'],
    ['no user', { password: 'SECRET' }, 'sasl.username'],
    ['an empty user', { ...right, username: '' }, 'sasl.username'],
    ['a user that is no text', { ...right, username: 7 }, 'sasl.username'],
    ['a user with NUL', { ...right, username: 'SECRET\0' }, 'sasl.username'],
    ['a user with half a character', { ...right, username: 'SECRET\ud800' }, 'sasl.username'],
    ['no password', { username: 'SECRET' }, 'sasl.password'],
    ['an empty password', { ...right, password: '' }, 'sasl.password'],
    ['bytes as password', { ...right, password: Buffer.from('SECRET') }, 'sasl.password'],
    ['a password with NUL', { ...right, password: '\0SECRET' }, 'sasl.password'],
    ['a password with half a character', { ...right, password: '\udc00SECRET' }, 'sasl.password'],
    ['another name beside them', { ...right, realm: 'SECRET' }, 'sasl.realm'],
    ['a beginning that is no function', { ...right, begin: 'SECRET' }, 'sasl.begin'],
  ])('refuses %s, and shows nothing of it', (_, value, option) => {
    const error = refusal(() => check(value));
    expect(error.option).toBe(option);
    expect(`${error.message} ${JSON.stringify(error)}`).not.toContain('SECRET');
  });

  it('is refused at once for a password if this Node has no MD5', () => {
    const { message } = refusal(() => check(right, () => false));
    expect(message).toContain('DIGEST-MD5 needs MD5, which this Node refuses');
    expect(() => check({ begin: () => undefined }, () => false)).not.toThrow();
  });

  it.each([
    ['Sasl', { Sasl: right }],
    ['SASL', { SASL: right }],
    ['saslPassword', { saslPassword: 'SECRET' }],
  ])('is not shown when its name is misspelt as %s', async (name, options) => {
    const opening = Session.connect('127.0.0.1:1', options as never);
    await expect(opening).rejects.toMatchObject({ option: `session.${name}` });
    await expect(opening).rejects.not.toThrow('SECRET');
  });
});
