/// <reference lib="esnext.disposable" />

/** How a server is started. */
export interface ServerOptions {
  /** Where its clock begins: `real` time (the default), `manual` (now), or an instant; the last two stand still. */
  time?: 'real' | 'manual' | Date | (string & {});
  /** Decides every random choice of the server; 0 if not given. */
  seed?: number | bigint;
  /**
   * More parameters, as on the server's command line. Over TLS alone, on a free port: `--tls-port-file` with
   * `--tls-cert-file`, `--tls-key-file`, `--tls-ca-cert-file`. The package's own connections trust the certificates that
   * these name, and no others, and show `--tls-client-cert-file`, or else the server's own, where clients have to.
   */
  args?: readonly (string | number)[];
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

/** A running server. */
export interface Server extends AsyncDisposable {
  /** `redis://127.0.0.1:port`, with the password of `--requirepass`, and `rediss://` over TLS alone */
  readonly url: string;
  /** `127.0.0.1` */
  readonly host: string;
  readonly port: number;
  readonly clock: Clock;
  readonly await: Await;
  /** Sends any command on the server's own connection. Rejects with a `ReplyError` when the server refuses it. */
  command(...args: Argument[]): Promise<Reply>;
  /** Makes it as it was at its start: keys, scripts, configuration, clock. Other connections are cut. */
  reset(): Promise<void>;
  /** What it knows: clock and seed, who waits, the last commands, the last lines of its log. */
  report(): Promise<string>;
  /** Ends it and resolves when it has ended. A second call does nothing. */
  stop(): Promise<void>;
}

/** How the clock is turned. */
export interface TurnOptions {
  /** After each instant goes on only when no command has come for so many milliseconds of real time. */
  settle?: number;
  /** The most that `settle` waits in all, in milliseconds; 5000 if not given. */
  limit?: number;
  /** Does not tell Redisson's waiters of leases that the turn ends. */
  nowake?: boolean;
}

/** What a turn of the clock did. */
export interface Turned {
  /** Where the wall hand stands. */
  wall: Date;
  /** How many deadlines have fired. */
  fired: number;
  /** Whether clients fell silent after each instant, where `settle` asked for it. */
  settled: boolean;
}

/** Where the clock stands; times are milliseconds. */
export interface ClockInfo {
  mode: 'real' | 'manual';
  wall: Date;
  /** Since the server's start. */
  monotonic: number;
  /** The wall hand minus the system's time. */
  offset: number;
  /** Until the next deadline on either hand; null: there is none. */
  next: number | null;
  timers: number;
}

/**
 * The two hands of the server's clock: the wall hand, on which keys expire, and the monotonic one, on which blocked
 * clients wait. Durations are whole milliseconds; others are a `RangeError`.
 */
export interface Clock {
  /** Lets both hands stand still. */
  freeze(): Promise<Date>;
  /** Lets both hands run from where they stand. */
  resume(): Promise<Date>;
  /** Makes the wall hand the system's time again; both hands run. */
  reset(): Promise<Date>;
  /** Moves both hands. Every deadline on the way fires at its own instant before this resolves. */
  advance(duration: number, options?: TurnOptions): Promise<Turned>;
  /** Moves both hands to the next deadline, `count` times (1), and fires it; null: there is none. */
  next(count?: number, options?: TurnOptions): Promise<Turned | null>;
  /** Moves the wall hand alone, back too: a clock that jumps. */
  step(duration: number): Promise<Date>;
  /** Moves the wall hand alone to an instant, or to milliseconds since 1970. */
  set(instant: Date | number): Promise<Date>;
  info(): Promise<ClockInfo>;
}

/** How long to wait, in milliseconds of real time; 5000 if not given. */
export interface AwaitOptions {
  limit?: number;
}

/** Waits for a state instead of sleeping. Rejects with an `AwaitError` when the limit passes first. */
export interface Await {
  /** At least so many clients are blocked (on that key). */
  blocked(count: number, options?: AwaitOptions & { key?: string }): Promise<void>;
  /** At least so many clients wait for a lock: natively, or subscribed to its Redisson channels. */
  waiters(key: string, count: number, options?: AwaitOptions): Promise<void>;
  /** A channel has at least so many subscribers. */
  subscribers(channel: string, count: number, options?: AwaitOptions): Promise<void>;
  /** A key is there, is gone, or has this type, as TYPE names it. */
  key(key: string, state: 'EXISTS' | 'GONE' | (string & {}), options?: AwaitOptions): Promise<void>;
}
