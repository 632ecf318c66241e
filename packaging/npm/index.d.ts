/// <reference lib="esnext.disposable" />
import type {
  Await, Clock, Faults, Finding, History, Latches, Locks, Rates, Semaphores, ServerMethods, ServerOptions,
} from './lib/methods.js';

export * from './lib/methods.js';

/**
 * Starts a server on a free port of 127.0.0.1 and resolves when it accepts connections. It ends by `stop()`, or with
 * this process, which it does not keep alive. Rejects with what the server said when it does not start.
 */
export function startServer(options?: ServerOptions): Promise<Server>;

/** An argument of a command. */
export type Argument = string | number | bigint | boolean | Uint8Array;

/**
 * A reply. Bytes that are no UTF-8 come as bytes, whole numbers beyond 2^53 as bigint; the last four kinds come after
 * `HELLO 3` alone. Within an array an error is an element.
 */
export type Reply =
  | string | number | bigint | null | Uint8Array | ReplyError | Reply[]
  | boolean | Map<Reply, Reply> | Set<Reply>;

/** What the server answers to a request that it refuses. */
export class ReplyError extends Error {
  /** The first word: `ERR`, `WRONGTYPE`, … */
  readonly code: string;
}

/** A state that was awaited did not come within the limit. The message has the server's report. */
export class AwaitError extends Error {}

/**
 * There are findings of the level that the server was started with, or there are none and the history is not whole. The
 * message has them, or the reason, and the server's report.
 */
export class FindingsError extends Error {
  readonly findings: Finding[];
}

/** One of the servers of a topology. */
export interface Member {
  /** What it began as. */
  readonly role: 'master' | 'replica' | 'sentinel';
  /** `127.0.0.1` */
  readonly host: string;
  readonly port: number;
  /** `127.0.0.1:port` */
  readonly address: string;
  /** `redis://127.0.0.1:port`, with the password of `--requirepass` */
  readonly url: string;
}

/** A running server. */
export interface Server extends ServerMethods, AsyncDisposable {
  /** `redis://127.0.0.1:port`, with the password of `--requirepass`, and `rediss://` over TLS alone */
  readonly url: string;
  /** `127.0.0.1`, or the address of `--bind` where that does not name it */
  readonly host: string;
  readonly port: number;
  /** The servers of a topology: masters, then replicas, then sentinels; without a topology none. */
  readonly servers: readonly Member[];
  readonly clock: Clock;
  readonly await: Await;
  readonly faults: Faults;
  readonly history: History;
  readonly locks: Locks;
  readonly semaphores: Semaphores;
  readonly latches: Latches;
  readonly rates: Rates;
  /**
   * Sends any command on the server's own connection. Rejects with a `ReplyError` when the server refuses it, and with a
   * `TypeError` for what has no name or no reply: `CLIENT REPLY OFF` and `SKIP`.
   */
  command(...args: Argument[]): Promise<Reply>;
  /**
   * Makes it as it was at its start: keys, scripts, faults, configuration, clock. Other connections are cut, unless they
   * are to be kept. Rejects for a topology: start another.
   */
  reset(options?: { keepClients?: boolean }): Promise<void>;
  /**
   * Rejects with a `FindingsError` when there are findings from this level on, or from the one that it was started with; or
   * when the history is not whole and has none.
   */
  check(options?: { level?: 'violation' | 'suspect' | 'lint' }): Promise<void>;
  /**
   * What it knows: clock and seed, who waits, the faults that have acted, what it finds in the history of locks, that
   * history, the last commands, the last lines of its log.
   */
  report(): Promise<string>;
  /** Ends it and resolves when it has ended. A second call does nothing. */
  stop(): Promise<void>;
}
