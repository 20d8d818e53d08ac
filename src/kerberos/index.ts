export type { KerberosClient, KerberosModule } from './gssapi-exchange.js';
export { type KerberosOptions, kerberos } from './kerberos.js';
