import type { Server, ServerOptions } from './index.js';

/** The worker's server, reset before each test; with `setupFiles: ['lockwheel/vitest']`. */
export const server: Server;

declare module 'vitest' {
  interface ProvidedContext {
    /** How the workers' servers are started. */
    lockwheel?: ServerOptions;
  }
}
