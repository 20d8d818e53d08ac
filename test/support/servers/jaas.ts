const PROVIDER = 'org.apache.zookeeper.server.auth.SASLAuthenticationProvider';

/** The line of `zoo.cfg` by which servers take access lists of the scheme `sasl`. */
export const SASL_PROVIDER = { 'authProvider.sasl': PROVIDER };

/** A JAAS configuration of servers whose users authenticate by DIGEST-MD5. */
export function jaasFor(users: Readonly<Record<string, string>>): string {
  const lines = Object.entries(users).map(
    ([name, password]) => `    user_${name}=${JSON.stringify(password)}`,
  );
  return `Server {
    org.apache.zookeeper.server.auth.DigestLoginModule required
${lines.join('\n')};
};
`;
}
