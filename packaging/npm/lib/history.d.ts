/** Which entries of the history: patterns of key and owner, what came after entry `since`, no more than `count`. */
export interface Filters {
  key?: string;
  owner?: string;
  since?: number;
  count?: number;
}

/** Something that happened to a lock, or beside one. What an event does not have is null. */
export interface Entry {
  seq: number;
  wall: Date;
  /** Milliseconds since the server's start. */
  monotonic: number;
  /** `acquired`, `released`, `lost`, `queued`, `fault`, `mark`, … */
  event: string;
  db: number | null;
  key: string | null;
  /** `native`, or `foreign` where a script or a bare command took the lock. */
  kind: string | null;
  /** `exclusive`, `shared` or `write`. */
  mode: string | null;
  owner: string | null;
  grant: number | null;
  holds: number | null;
  /** Milliseconds, as `waited` is. */
  ttl: number | null;
  waited: number | null;
  cause: string | null;
  client: number | null;
  clientName: string | null;
  /** The command, or the digest of the script. */
  by: string | null;
  /** What a fault did. */
  fault: string | null;
  /** The line of a mark. */
  text?: string;
  /** The clock before and after it was moved, in milliseconds. */
  from?: number;
  to?: number;
  /** How many permits of a semaphore are left, and how many are held. */
  left?: number | null;
  held?: number;
}

/** What the history has of what was asked for. */
export interface Entries {
  /** The oldest number that it still has. */
  first: number;
  /** Its newest number. */
  last: number;
  /** Whether older entries had to go. */
  truncated: boolean;
  entries: Entry[];
}

/** What happened to locks, whoever took them: the package starts its servers with `lock-history yes`. */
export interface History {
  /** The entries, the oldest first. */
  entries(filters?: Filters): Promise<Entries>;
  /** The same as JSON. */
  json(filters?: Filters): Promise<string>;
  /** The operations on locks as EDN, as Jepsen's checkers read them. */
  edn(filters?: Filters): Promise<string>;
  /** Writes a line of the test's own. */
  mark(text: string): Promise<void>;
  /** Keys like this are locks too. */
  observe(pattern: string): Promise<void>;
  /** They are no longer, for this pattern of `observe`. */
  unobserve(pattern: string): Promise<void>;
  /** Declares that an owner is now in the section that a lock protects: two there at once are a violation. */
  enter(key: string, owner: string, options?: { token?: number | bigint }): Promise<void>;
  /** Declares that an owner has left it; whether it was there. */
  leave(key: string, owner: string): Promise<boolean>;
}

/** How much a finding weighs. */
export type Level = 'violation' | 'suspect' | 'lint';

/** Something wrong in the history. */
export interface Finding {
  level: Level;
  invariant: string;
  key: string;
  /** The entries that show it. */
  seqs: number[];
  owners: string[];
  /** The same in words. */
  evidence: string[];
  text: string;
}

/** What the server finds in the history. */
export interface Verdict {
  /** `inconclusive` where the history is not whole. */
  verdict: 'ok' | 'suspect' | 'violated' | 'inconclusive';
  /** Why the history is not whole; null: it is. */
  reason: string | null;
  events: number;
  truncated: boolean;
  findings: Finding[];
  /** How many findings there are beside these. */
  leftOut: number;
}
