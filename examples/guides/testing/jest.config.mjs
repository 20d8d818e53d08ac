export default { testMatch: ['<rootDir>/*.jest.mjs'], transform: {}, testEnvironment: 'node' };
