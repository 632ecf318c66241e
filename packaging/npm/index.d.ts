/// <reference lib="esnext.disposable" />
import type { Faults } from './lib/faults.js';
import type { Finding, History, Level, Verdict } from './lib/history.js';

export { Action, Clients, type Faults, type Matchers, type Rule } from './lib/faults.js';
export type { Entries, Entry, Filters, Finding, History, Level, Verdict } from './lib/history.js';

/** How a server is started. */
export interface ServerOptions {
  /** Where its clock begins: `real` time (the default), `manual` (now), or an instant; the last two stand still. */
  time?: 'real' | 'manual' | Date | (string & {});
  /** Decides every random choice of the server; 0 if not given. */
  seed?: number | bigint;
  /**
   * More parameters, as on the server's command line, perhaps with a configuration file in front. Over TLS alone, on a free port: `--tls-port-file` with
   * `--tls-cert-file`, `--tls-key-file`, `--tls-ca-cert-file`. The package's own connections trust the certificates that
   * these name, and no others, and show `--tls-client-cert-file`, or else the server's own, where clients have to.
   */
  args?: readonly (string | number)[];
  /** From which level on findings in the history fail a test, or `server.check()`; `off` if not given. */
  verify?: 'off' | 'violation' | 'suspect';
  /**
   * Several servers in one process and on one clock: `replicas 2`, `sentinel 3 --replicas 2`, `cluster 3x1`, perhaps with
   * `--lag 100` behind it. `servers` has them; all else asks the first that lives.
   */
  topology?: string;
  /** The program; otherwise `LOCKWHEEL_BINARY`, the platform's package, or PATH says. */
  binary?: string;
}

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
export interface Server extends AsyncDisposable {
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
  /** What it finds wrong in the history of locks with names like `key`: from this level on, or of every level. */
  verify(options?: { key?: string; level?: Level }): Promise<Verdict>;
  /**
   * Rejects with a `FindingsError` when there are findings from this level on, or from the one that it was started with; or
   * when the history is not whole and has none.
   */
  check(options?: { level?: Level }): Promise<void>;
  /**
   * What it knows: clock and seed, who waits, the faults that have acted, what it finds in the history of locks, that
   * history, the last commands, the last lines of its log.
   */
  report(): Promise<string>;
  /** Ends it and resolves when it has ended. A second call does nothing. */
  stop(): Promise<void>;
}

/** Options of an advance of the clock. */
export interface TurnOptions {
  /** After each instant goes on only when no command has come for so many milliseconds of real time. */
  settle?: number;
  /** The most that `settle` waits in all, in milliseconds; 5000 if not given. */
  limit?: number;
  /** Does not notify Redisson's waiters of leases that the advance ends. */
  nowake?: boolean;
}

/** The effects of one advance of the clock. */
export interface Turned {
  /** Where the wall clock stands. */
  wall: Date;
  /** How many deadlines have fired. */
  fired: number;
  /** Whether clients fell silent after each instant, where `settle` asked for it. */
  settled: boolean;
  /** What `next` has fired: each its kind, and its key or the number of its client. */
  what: [kind: string, whose: string | number][];
}

/** Where the clock stands; times are milliseconds. */
export interface ClockInfo {
  mode: 'real' | 'manual';
  wall: Date;
  /** Since the server's start. */
  monotonic: number;
  /** The wall clock minus the system's time. */
  offset: number;
  /** Until the next deadline on either hand; null: there is none. */
  next: number | null;
  timers: number;
}

/**
 * The two clocks of the server: the wall clock, on which keys expire, and the monotonic one, on which blocked
 * clients wait. Durations are whole milliseconds; others are a `RangeError`.
 */
export interface Clock {
  /** Lets both clocks stand still. */
  freeze(): Promise<Date>;
  /** Lets both clocks run from where they stand. */
  resume(): Promise<Date>;
  /** Makes the wall clock the system's time again; both clocks run. */
  reset(): Promise<Date>;
  /** Moves both clocks. Every deadline on the way fires at its own instant before this resolves. */
  advance(duration: number, options?: TurnOptions): Promise<Turned>;
  /** Moves both clocks to the next deadline, `count` times (1), and fires it; null: there is none. */
  next(count?: number, options?: TurnOptions): Promise<Turned | null>;
  /** Moves the wall clock alone, back too: a clock that jumps. */
  step(duration: number): Promise<Date>;
  /** Moves the wall clock alone to an instant, or to milliseconds since 1970. */
  set(instant: Date | number): Promise<Date>;
  info(): Promise<ClockInfo>;
}

/** How long to wait, in milliseconds of real time; 5000 if not given. */
export interface AwaitOptions {
  limit?: number;
}

/** Which numbers are meant: at least so many, unless these say otherwise. */
export interface CountOptions extends AwaitOptions {
  /** Just so many. */
  exact?: boolean;
  /** No more than so many. */
  atmost?: boolean;
}

/** Waits for a state instead of sleeping. Rejects with an `AwaitError` when the limit passes first. */
export interface Await {
  /** So many clients are blocked (on that key). */
  blocked(count: number, options?: CountOptions & { key?: string }): Promise<void>;
  /** So many clients wait for a lock: natively, or subscribed to its Redisson channels. */
  waiters(key: string, count: number, options?: CountOptions): Promise<void>;
  /** A channel has so many subscribers. */
  subscribers(channel: string, count: number, options?: CountOptions): Promise<void>;
  /** So many clients (with a name like this) are connected, the package's own connections among them. */
  clients(count: number, options?: CountOptions & { name?: string }): Promise<void>;
  /** A key is there, is gone, or has this type, as TYPE names it. */
  key(key: string, state: 'EXISTS' | 'GONE' | (string & {}), options?: AwaitOptions): Promise<void>;
  /** A command was executed so often (on keys like this). */
  calls(command: string, count: number, options?: AwaitOptions & { key?: string }): Promise<void>;
  /** No client (with a name like this) has sent a command for so many milliseconds of real time. */
  idle(quiet: number, options?: AwaitOptions & { name?: string }): Promise<void>;
  /** The history has this event, `count` times (1), after the entry `since`; resolves to the number of its entry. */
  event(
    event: string,
    options?: AwaitOptions & { key?: string; owner?: string; since?: number; count?: number },
  ): Promise<number>;
  /** A rule has acted so often (1). */
  fault(name: string, count?: number, options?: AwaitOptions): Promise<void>;
  /** A rule holds so many (1) requests or replies. */
  held(name: string, count?: number, options?: AwaitOptions): Promise<void>;
}
