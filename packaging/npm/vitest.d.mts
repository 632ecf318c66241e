import type { Server, ServerOptions } from './index.js';

/**
 * The worker's server, as at its start before each test (a topology on other ports each time); with
 * `setupFiles: ['lockwheel/vitest']`.
 */
export const server: Server;

declare module 'vitest' {
  interface ProvidedContext {
    /** How the workers' servers are started. */
    lockwheel?: ServerOptions;
  }
}
