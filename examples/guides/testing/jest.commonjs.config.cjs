/** For tests that are CommonJS: Jest without `--experimental-vm-modules`. */
module.exports = {
  testEnvironment: 'node',
  transform: { '^.+\\.(t|j)s$': ['@swc/jest', { jsc: { target: 'es2022' } }] },
  transformIgnorePatterns: ['/node_modules/(?!(conclave|p-retry|is-network-error)/)'],
};
