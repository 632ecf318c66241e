import type { Server } from './index.js';

/**
 * The worker's server, as at its start before each test (a topology on other ports each time); with
 * `testEnvironment: 'lockwheel/jest'`.
 */
export const server: Server;
