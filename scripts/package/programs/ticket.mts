/** Makes a mechanism of SASL. The types of conclave/kerberos must fit the types of kerberos. */
import { type KerberosOptions, kerberos } from 'conclave/kerberos';
import * as krb5 from 'kerberos';

const options: KerberosOptions = { hostOf: ({ host, port }) => `${host}-${port}`, service: 'zookeeper' };
console.log(typeof kerberos(krb5, options).begin);
