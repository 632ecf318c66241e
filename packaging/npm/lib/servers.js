'use strict';
// The servers of a topology: requests go to the first that lives, those that steer to the first that answers.

const { Connection } = require('./connection.js');
const { ReplyError, isHanging } = require('./resp.js');

/** How many milliseconds a server has to answer a probe, where another one can be asked. It doubles with each round. */
const PROBE_LIMIT = 1000;

/** The share of this limit for a server that did not answer the last time. */
const HANGING_SHARE = 0.1;

/** A server has not answered a probe within its limit. */
class ProbeTimeoutError extends Error {
  constructor() {
    super('the server does not answer');
  }
}

/** The servers in the order of their places, each `{ access, isSentinel }`. */
class Servers {
  #places;
  /** The places of the servers that live and were passed over, since they did not answer or refused all. */
  hanging = new Set();

  constructor(places) {
    this.#places = places;
  }

  get count() {
    return this.#places.length;
  }

  open(place, isExempt = true) {
    return new Connection(this.#places[place].access, isExempt);
  }

  /**
   * The first server that lives, and its connection, as `connectionTo` makes it of a place; `avoid` is the place that is
   * asked last. A server may be killed once it has accepted a connection: an answer shows that one lives.
   *
   * In haste a server that hangs, or refuses all, is passed over when another one answers, and `keep` is given its
   * connection; if none does, the servers are asked again with twice the limit. Those that have `refused` a request are
   * left out, and the others are asked once: undefined if none answers.
   */
  async first(connectionTo, { avoid, isHasty = false, refused = [], keep = () => {} } = {}) {
    if (this.count === 1) return { place: 0, connection: connectionTo(0) };
    const order = this.#order(avoid);
    const limit = isHasty && order.length > 1 ? PROBE_LIMIT : undefined;
    let first;
    for (let turn = 0; ; turn += 1) {
      let busy;
      let isLate = false;
      for (const place of order.filter((each) => !refused.includes(each))) {
        const connection = connectionTo(place);
        try {
          const isFree = await this.#probe(place, connection, limit && limit * 2 ** turn);
          if (isFree || limit === undefined) {
            if (busy !== undefined) keep(busy.place, busy.connection);
            return { place, connection };
          }
          if (busy === undefined && refused.length === 0) busy = { place, connection };
          else keep(place, connection);
        } catch (error) {
          first ??= error;
          isLate ||= error instanceof ProbeTimeoutError;
        }
      }
      if (refused.length > 0 || busy !== undefined) return busy;
      // Twice: a sentinel that promotes a server cuts a connection that has not said yet that it is exempt.
      if (turn > 0 && !isLate) throw first;
    }
  }

  /** Probes a server: whether it refuses nothing. With a limit in milliseconds it has no longer to answer. */
  async #probe(place, connection, limit) {
    const isKnown = this.hanging.has(place);
    try {
      const isFree = await this.#probeWithin(place, connection, limit && limit * (isKnown ? HANGING_SHARE : 1));
      if (isFree) this.hanging.delete(place);
      else this.hanging.add(place);
      return isFree;
    } catch (error) {
      if (error instanceof ProbeTimeoutError) this.hanging.add(place);
      else this.hanging.delete(place);
      throw error;
    }
  }

  async #probeWithin(place, connection, limit) {
    if (limit === undefined) return connection.probe();
    try {
      return await within(limit, connection.probe());
    } catch (error) {
      if (!(error instanceof ProbeTimeoutError)) throw error;
      if (!connection.hasRequests) {
        connection.close();
        throw error;
      }
    }
    // The probe is behind requests that may take long.
    const beside = this.open(place);
    try {
      return await within(limit, beside.probe());
    } finally {
      beside.close();
    }
  }

  /** The places in the order in which they are asked. Sentinels are not: they know few commands. */
  #order(avoid) {
    const places = [...this.#places.keys()].filter((place) => !this.#places[place].isSentinel);
    return [...places.filter((place) => place !== avoid), ...places.filter((place) => place === avoid)];
  }
}

/** Resolves as an answer does; rejects when it does not come within so many milliseconds. */
async function within(limit, answer) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new ProbeTimeoutError()), limit);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** One connection to each server, and the requests that go to the first that lives. */
class Route {
  /** The place of the server that was asked last. */
  asked = 0;
  #servers;
  /** Its requests steer: they go to the first server that answers and does not refuse all. */
  #isSteering;
  #connections = new Map();
  #isExempt = true;

  constructor(servers, { isSteering = false } = {}) {
    this.#servers = servers;
    this.#isSteering = isSteering;
  }

  /** Whether a server lives and was passed over. */
  isHanging(place) {
    return this.#servers.hanging.has(place);
  }

  /** Sends a request; resolves to its reply, rejects with a ReplyError when the server refuses it. */
  send(args, avoid) {
    // What one server is asked is sent at once.
    if (this.#servers.count === 1) return this.#to(0).send(args);
    return this.#sendToFirst(args, avoid);
  }

  async #sendToFirst(args, avoid) {
    const isHasty = this.#isSteering;
    return askEach(this.#servers, isHasty, async (refused) => {
      const found = await this.#servers.first((each) => this.#to(each), { avoid, isHasty, refused });
      if (found !== undefined) this.asked = found.place;
      return found && { place: found.place, reply: found.connection.send(args) };
    });
  }

  /** Opens the connection to the first server that answers. */
  async prepare() {
    const { connection } = await this.#servers.first((each) => this.#to(each), { isHasty: true });
    await connection.probe();
  }

  /** Whether rules for faults leave out what it sends from now on. */
  async setExempt(isExempt) {
    this.#isExempt = isExempt;
    await Promise.all([...this.#connections.values()].map((connection) => connection.setExempt(isExempt)));
  }

  close() {
    for (const connection of this.#connections.values()) connection.close();
  }

  #to(place) {
    if (!this.#connections.has(place)) this.#connections.set(place, this.#servers.open(place, this.#isExempt));
    return this.#connections.get(place);
  }
}

/**
 * Asks one server after the other while they refuse all; such a refusal says that nothing was done. `ask` sends a request
 * to one that has not `refused`: its place and its reply, or undefined if there is none.
 */
async function askEach(servers, isSteering, ask) {
  const refused = [];
  let refusal;
  for (;;) {
    const asked = await ask(refused);
    if (asked === undefined) throw refusal;
    try {
      return await asked.reply;
    } catch (error) {
      if (!isSteering || servers.count === 1 || !isHanging(error)) throw error;
      servers.hanging.add(asked.place);
      refused.push(asked.place);
      refusal ??= error;
    }
  }
}

/** Connections on which nobody waits, to be had for one request each. */
class IdleConnections {
  #servers;
  #idle;

  constructor(servers) {
    this.#servers = servers;
    this.#idle = Array.from({ length: servers.count }, () => []);
  }

  /** One to the first server that answers and has not refused, and what gives it back; undefined if there is none. */
  async take(refused = []) {
    const keep = (place, connection) => this.#idle[place].push(connection);
    const idle = (place) => this.#idle[place].pop() ?? this.#servers.open(place);
    const found = await this.#servers.first(idle, { isHasty: true, refused, keep });
    return found && { ...found, giveBack: () => keep(found.place, found.connection) };
  }

  /** A request that waits. When its server is killed meanwhile, the next one is asked; that none lives is an error. */
  ask(args) {
    return askEach(this.#servers, true, async (refused) => {
      const taken = await this.take(refused);
      return taken && { place: taken.place, reply: this.#wait(taken, args) };
    });
  }

  async #wait({ connection, giveBack }, args) {
    try {
      return await connection.send(args);
    } catch (error) {
      if (this.#servers.count === 1 || error instanceof ReplyError) throw error;
    } finally {
      giveBack();
    }
    return this.ask(args);
  }

  /** Opens so many that stay. */
  async prepare(count) {
    const taken = await Promise.all(Array.from({ length: count }, () => this.take()));
    await Promise.all(taken.map(({ connection }) => connection.probe()));
    taken.forEach(({ giveBack }) => giveBack());
  }

  close() {
    for (const idle of this.#idle) idle.splice(0).forEach((connection) => connection.close());
  }
}

module.exports = { IdleConnections, Route, Servers };
