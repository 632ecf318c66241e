/** How much sooner or later than said, at the most; the seed draws. */
export interface Jitter {
  jitter?: number;
}

/** What a rule does. Durations are milliseconds of the monotonic clock. */
export class Action {
  private constructor();
  /**
   * The request is lost, and all that its connection sends and is sent from there on, until the client closes it, or the
   * server cuts it after `closeAfter`.
   */
  static dropRequest(options?: { closeAfter?: number }): Action;
  /** The request is executed, and its reply is lost, as `dropRequest` loses the request. */
  static dropReply(options?: { closeAfter?: number }): Action;
  /** The request is executed so much later; what is behind it on its connection waits too. */
  static delay(duration: number, options?: Jitter): Action;
  /** The request is executed at once and answered so much later. */
  static delayReply(duration: number, options?: Jitter): Action;
  /** The request is executed when `faults.go` says so. */
  static hold(): Action;
  /** The request is executed at once and answered when `faults.go` says so. */
  static holdReply(): Action;
  /** The request is not executed; this error is its reply. */
  static error(text: string): Action;
  /** The request is executed and answered by null. */
  static replyNull(): Action;
  /** The request is executed and answered by `OK`. */
  static replyOk(): Action;
  /** The request is executed and answered by this integer. */
  static replyInt(number: number | bigint): Action;
  /** The request is executed and answered by this string. */
  static replyBulk(text: string | Uint8Array): Action;
  /** The request is executed, and these bytes are sent, which need not be a reply. */
  static replyRaw(bytes: string | Uint8Array): Action;
  /** The connection is cut before the request is executed. */
  static close(): Action;
  /** The connection is cut after the request was executed; there is no reply. */
  static closeAfter(): Action;
  /** As `close`, by a reset of TCP instead of an end of the stream. */
  static reset(): Action;
  /** As `closeAfter`, by a reset of TCP instead of an end of the stream. */
  static resetAfter(): Action;
  /**
   * The reply is sent in pieces of so many bytes: one each time that `every` has passed, or else in writes of their
   * own.
   */
  static slice(bytes: number, options?: { every?: number }): Action;
  /** The reply is sent at so many kilobytes a second. */
  static bandwidth(kilobytes: number): Action;
  /** The reply ends after so many bytes, and the connection is cut. */
  static truncate(bytes: number): Action;
  /** The request is executed twice and answered once. */
  static duplicate(): Action;
  /** The request is executed; the messages that it publishes reach nobody, or not the clients that are named. */
  static losePublish(): Action;
  /** The script that the request names is no longer cached. */
  static noScript(): Action;
  /** The keys of the request expire just before it is executed. */
  static expire(): Action;
  /** The request is executed with this integer argument changed; 1 is the first behind the command. */
  static argAdd(index: number, by: number | bigint): Action;
  /** The request is executed with every timestamp among its arguments shifted by the clock's offset. */
  static timeShift(): Action;
}

/** Some clients. */
export class Clients {
  private constructor();
  /** One, by its number. */
  static id(id: number): Clients;
  /** Those with a name like this. */
  static named(pattern: string): Clients;
  /** Those whose library has a name like this, as CLIENT SETINFO told it. */
  static lib(pattern: string): Clients;
  /** Those from this address, with or without a port. */
  static addr(address: string): Clients;
  /** All but those that are exempt. */
  static all(): Clients;
}

/** Which requests a rule matches, and which of these it acts on. All that is named has to match. */
export interface Matchers {
  /** The command. */
  on?: string;
  /** The digest of the script. */
  script?: string;
  /** What the text of the script contains. */
  contains?: string;
  /** A pattern of keys. */
  key?: string;
  /** A pattern of channels. */
  channel?: string;
  /** An argument, 1 being the first behind the command, and what it is. */
  arg?: readonly [index: number, value: string | number];
  /** The clients, by id, name or lib. */
  client?: Clients;
  /** For actions on the reply: which replies. */
  result?: 'OK' | 'ERROR' | 'NIL';
  /** So many matches pass first. */
  skip?: number;
  /** After so many hits the rule rests. */
  times?: number;
  /** The chance, from 0 to 1; the seed draws. */
  prob?: number;
}

/** A rule, and what came of it. */
export interface Rule {
  name: string;
  /** Its words behind the name. */
  rule: string;
  matched: number;
  skipped: number;
  /** How often it has acted. */
  hits: number;
  /** How often it can still act; null: there is no end to it. */
  left: number | null;
  /** How many requests or replies it holds. */
  held: number;
}

/**
 * Injects faults: rules for single requests, and faults of clients or of the whole server. The package's own
 * connections are exempt unless `exempt` says otherwise. A reset of the server ends every fault.
 */
export interface Faults {
  /** Adds a rule: the action acts on matching requests. If several rules match, the oldest acts. */
  add(name: string, action: Action, matchers?: Matchers): Promise<void>;
  /** Releases what a rule holds, oldest first, at most `count` of it. Resolves to the number released. */
  go(name: string, count?: number): Promise<number>;
  /** Resolves to the rules, oldest first. */
  list(): Promise<Rule[]>;
  /** Removes a rule and releases what it holds. Resolves to whether the rule existed. */
  remove(name: string): Promise<boolean>;
  /** Removes all rules and releases what they hold. Resolves to the number of rules. */
  clear(): Promise<number>;
  /** Sets the seed of the draws for `prob`. */
  seed(seed: number | bigint): Promise<void>;
  /** Sets whether rules ignore the requests of `server.command`. By default they do. */
  exempt(isExempt?: boolean): Promise<void>;
  /**
   * Freezes clients: the server reads nothing from them and writes nothing to them. This lasts for `duration`
   * milliseconds of the monotonic clock, or until `thawClient`. Resolves to the number of clients.
   */
  freezeClient(clients: Clients, duration?: number): Promise<number>;
  /** Thaws frozen clients. Resolves to their number. */
  thawClient(clients: Clients): Promise<number>;
  /**
   * Cuts clients off, including their new connections: their requests (`IN`), what the server sends them (`OUT`), or
   * both. Resolves to the present number of clients.
   */
  partition(clients: Clients, direction?: 'IN' | 'OUT' | 'BOTH'): Promise<number>;
  /** Ends all partitions. Resolves to their number. */
  heal(): Promise<number>;
  /** Stops the replication of later writes, or of those to keys that match `key`. */
  lag(options?: { key?: string }): Promise<void>;
  /**
   * Simulates a failover: restores the keys as at `lag`, forgets the scripts, and cuts all other connections. With
   * `tokens`, grant numbers start anew.
   */
  failover(options?: { tokens?: boolean }): Promise<void>;
  /**
   * Simulates a restart without persistence: drops keys, scripts and connections, and refuses connections for `down`
   * milliseconds. With `keep`, it drops only the connections. With `tokens`, grant numbers start anew.
   */
  restart(options?: { down?: number; keep?: boolean; tokens?: boolean }): Promise<void>;
  /**
   * Kills a server of a topology, which is numbered from 0: cuts its clients and links, drops its data, and refuses
   * connections for `backAfter` milliseconds, or until `up`. With `keep`, the server comes back with its data.
   */
  down(server: number, backAfter?: number | { backAfter?: number; keep?: boolean }): Promise<void>;
  /** Brings a killed server back. Resolves to whether the server was down. */
  up(server: number): Promise<boolean>;
  /**
   * Cuts servers off from these others, or from all others, until `heal`. Resolves to the number of connections that
   * are held.
   */
  part(servers: number[], others?: number[]): Promise<number>;
  /** Cuts servers off from their clients, including new ones, until `heal`. Resolves to the number of clients. */
  partFromClients(servers: number[], direction?: 'IN' | 'OUT' | 'BOTH'): Promise<number>;
  /** Delays replication by `lag` milliseconds on the clock that all servers share. */
  lagBy(lag: number): Promise<void>;
  /**
   * Makes a replica the master, with the data that it has. Cuts the clients of the old master, which then follows the
   * new one.
   */
  failoverTo(replica: number, options?: { tokens?: boolean }): Promise<void>;
}
