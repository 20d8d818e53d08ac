import { expect } from 'vitest';
import type { KerberosClient, KerberosModule } from '../../../src/kerberos/index.js';

const base64 = (text: string | Uint8Array) => Buffer.from(text as Uint8Array).toString('base64');

/** The npm package `kerberos`, with a KDC that gives every ticket. What is overridden may fail. */
export class FakeKerberos implements KerberosModule {
  /** What was called, with the text in each token. */
  readonly calls: string[] = [];
  offer: Uint8Array = Buffer.from([7, 0, 1, 0]);
  isProven = true;
  /** Gives the ticket. */
  askKdc: () => Promise<void> = async () => undefined;

  async initializeClient(service: string): Promise<KerberosClient> {
    this.calls.push(`initializeClient ${service}`);
    let contextComplete = false;
    const read = (name: string, challenge: string) =>
      void this.calls.push(`${name} ${Buffer.from(challenge, 'base64').toString('latin1')}`.trim());
    return {
      get contextComplete() {
        return contextComplete;
      },
      step: async (challenge) => {
        read('step', challenge);
        if (challenge === '') {
          await this.askKdc();
          return base64('ticket');
        }
        if (challenge === base64('forged')) throw new Error('A token had an invalid Message Integrity Check');
        contextComplete = this.isProven;
        return '';
      },
      unwrap: async (challenge) => {
        read('unwrap', challenge);
        if (challenge === base64('forged')) throw new Error('A token was invalid');
        return base64(this.offer);
      },
      wrap: async (challenge, options) => {
        expect(options).toEqual({}); // The package refuses undefined before version 7.
        read('wrap', Buffer.from(Buffer.from(challenge, 'base64').toString('hex')).toString('base64'));
        return base64('choice');
      },
    };
  }
}
