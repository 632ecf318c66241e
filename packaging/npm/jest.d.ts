import type { Server } from './index.js';

/** The worker's server, reset before each test; with `testEnvironment: 'lockwheel/jest'`. */
export const server: Server;
