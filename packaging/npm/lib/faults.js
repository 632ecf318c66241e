'use strict';
// Faults in what goes between the server and its clients.

const { Action, Clients } = require('./actions.js');
const { checkOptions, optionsAt, publish, quoted } = require('./caller.js');
const { fields } = require('./resp.js');
const { milliseconds, options } = require('./words.js');

/** Rules for single requests, and faults of whole clients or of the whole server. */
class Faults {
  #command;
  #commands;
  #prepare;

  /**
   * `command` steers the server; rules see what `commands`, a connection, sends if it is not exempt; `prepare` opens the
   * package's connections while the server still lets them in.
   */
  constructor(command, commands, prepare) {
    this.#command = command;
    this.#commands = commands;
    this.#prepare = prepare;
  }

  async add(name, action, matchers = {}) {
    if (!(action instanceof Action)) {
      throw new TypeError(`the action of a rule is one of those that Action makes, not ${quoted(action)}`);
    }
    const { on, script, contains, key, channel, arg, client, result, skip, times, prob } = matchers;
    if (client?.ofRule === undefined && client !== undefined) throw new TypeError('a rule names clients by id, name or lib');
    if (arg !== undefined && !Array.isArray(arg)) {
      throw new TypeError(`arg is the place of an argument and its value such as [2, 'PX'], not ${quoted(arg)}`);
    }
    await this.#command(
      ...['FAULT.ADD', name, ...options({ on, script, contains, key, channel })],
      ...(arg === undefined ? [] : ['ARG', ...arg]),
      ...(client === undefined ? [] : client.ofRule),
      ...[...options({ result, skip, times, prob }), 'DO', ...action.words],
    );
  }

  go(name, count) {
    return this.#command('FAULT.GO', name, ...options({ count }));
  }

  async list() {
    return (await this.#command('FAULT.LIST')).map(fields);
  }

  async remove(name) {
    return (await this.#command('FAULT.DEL', name)) === 1;
  }

  clear() {
    return this.#command('FAULT.CLEAR');
  }

  async seed(seed) {
    await this.#command('FAULT.SEED', seed);
  }

  async exempt(isExempt = true) {
    await this.#commands.setExempt(isExempt);
  }

  freezeClient(clients, duration) {
    const lasts = duration === undefined ? 'FOREVER' : milliseconds(duration);
    return this.#command('FAULT.FREEZECLIENT', ...wordsOf(clients), lasts);
  }

  thawClient(clients) {
    return this.#command('FAULT.THAWCLIENT', ...wordsOf(clients));
  }

  async partition(clients, direction = 'BOTH') {
    await this.#prepare();
    return this.#command('FAULT.PARTITION', ...wordsOf(clients), direction);
  }

  heal() {
    return this.#command('FAULT.HEAL');
  }

  async lag({ key } = {}) {
    await this.#command('FAULT.LAG', ...options({ key }));
  }

  async failover({ tokens = false } = {}) {
    await this.#command('FAULT.FAILOVER', ...(tokens ? ['TOKENS'] : []));
  }

  async restart({ down, keep = false, tokens = false } = {}) {
    await this.#prepare();
    const lasts = options({ down: down === undefined ? undefined : milliseconds(down) });
    await this.#command('FAULT.RESTART', ...lasts, ...(keep ? ['KEEP'] : []), ...(tokens ? ['TOKENS'] : []));
  }

  async down(server, lasts = {}) {
    const given = typeof lasts === 'number' ? { backAfter: lasts } : lasts;
    checkOptions('faults.down', given, ['backAfter', 'keep']);
    const { backAfter, keep = false } = given;
    const words = backAfter === undefined ? [] : [milliseconds(backAfter)];
    await this.#command('FAULT.DOWN', server, ...words, ...(keep ? ['KEEP'] : []));
  }

  async up(server) {
    return (await this.#command('FAULT.UP', server)) === 1;
  }

  part(servers, others) {
    const beside = others === undefined ? [] : ['FROM', places(others)];
    return this.#command('FAULT.PARTITION', 'NODES', places(servers), ...beside);
  }

  async partFromClients(servers, direction = 'BOTH') {
    await this.#prepare();
    return this.#command('FAULT.PARTITION', 'NODES', places(servers), 'FROM', 'CLIENTS', direction);
  }

  async lagBy(lag) {
    await this.#command('FAULT.LAG', milliseconds(lag));
  }

  async failoverTo(replica, { tokens = false } = {}) {
    await this.#command('FAULT.FAILOVER', replica, ...(tokens ? ['TOKENS'] : []));
  }
}

/** The words that name clients. */
function wordsOf(clients) {
  if (clients instanceof Clients) return clients.words;
  throw new TypeError(`clients are some of those that Clients names, such as Clients.id(3), not ${quoted(clients)}`);
}

/** Places of servers, as a request lists them. */
function places(servers) {
  if (Array.isArray(servers)) return servers.join(',');
  throw new TypeError(`servers are a list of their places such as [0, 1], not ${quoted(servers)}`);
}

const MATCHERS = ['on', 'script', 'contains', 'key', 'channel', 'arg', 'client', 'result', 'skip', 'times', 'prob'];
publish(Faults, (name) => `faults.${name}`, {
  add: optionsAt(2, ...MATCHERS),
  lag: optionsAt(0, 'key'),
  failover: optionsAt(0, 'tokens'),
  restart: optionsAt(0, 'down', 'keep', 'tokens'),
  failoverTo: optionsAt(1, 'tokens'),
});

module.exports = { Faults };
