'use strict';
// The servers of a topology: requests go to the first that lives.

const { Connection } = require('./connection.js');
const { ReplyError } = require('./resp.js');

/** The servers in the order of their places, each `{ access, isSentinel }`. */
class Servers {
  #places;

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
   * The first server that answers, and its connection, as `connectionTo` makes it of a place; `avoid` is the place that is
   * asked last. A server may be killed once it has accepted a connection: an answer shows that one lives.
   */
  async first(connectionTo, avoid) {
    let first;
    if (this.count === 1) return { place: 0, connection: connectionTo(0) };
    const order = this.#order(avoid);
    // Twice: a sentinel that promotes a server cuts a connection that has not said yet that it is exempt.
    for (const place of [...order, ...order]) {
      const connection = connectionTo(place);
      try {
        await connection.probe();
        return { place, connection };
      } catch (error) {
        first ??= error;
      }
    }
    throw first;
  }

  /** The places in the order in which they are asked. Sentinels are not: they know few commands. */
  #order(avoid) {
    const places = [...this.#places.keys()].filter((place) => !this.#places[place].isSentinel);
    return [...places.filter((place) => place !== avoid), ...places.filter((place) => place === avoid)];
  }
}

/** One connection to each server, and the requests that go to the first that lives. */
class Route {
  /** The place of the server that was asked last. */
  asked = 0;
  #servers;
  #connections = new Map();
  #isExempt = true;

  constructor(servers) {
    this.#servers = servers;
  }

  /** Sends a request; resolves to its reply, rejects with a ReplyError when the server refuses it. */
  send(args, avoid) {
    // What one server is asked is sent at once.
    if (this.#servers.count === 1) return this.#to(0).send(args);
    return this.#sendToFirst(args, avoid);
  }

  async #sendToFirst(args, avoid) {
    const { place, connection } = await this.#servers.first((each) => this.#to(each), avoid);
    this.asked = place;
    return connection.send(args);
  }

  /** Opens the connection to the first server that lives. */
  async prepare() {
    const { connection } = await this.#servers.first((each) => this.#to(each));
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

/** Connections on which nobody waits, to be had for one request each. */
class IdleConnections {
  #servers;
  #idle;

  constructor(servers) {
    this.#servers = servers;
    this.#idle = Array.from({ length: servers.count }, () => []);
  }

  /** One to the first server that lives, and what gives it back. */
  async take() {
    const { place, connection } = await this.#servers.first((each) => this.#idle[each].pop() ?? this.#servers.open(each));
    return { connection, giveBack: () => this.#idle[place].push(connection) };
  }

  /** A request that waits. When its server is killed meanwhile, the next one is asked; that none lives is an error. */
  async ask(args) {
    for (;;) {
      const { connection, giveBack } = await this.take();
      try {
        return await connection.send(args);
      } catch (error) {
        if (this.#servers.count === 1 || error instanceof ReplyError) throw error;
      } finally {
        giveBack();
      }
    }
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
