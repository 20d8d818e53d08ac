export { type KerberosOptions, kerberos } from './kerberos.js';
export type { KerberosClient, KerberosModule } from './kerberos-module.js';
