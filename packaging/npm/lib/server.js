'use strict';
// A server of one's own: a process that this one starts and ends.

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Access } = require('./access.js');
const { Arguments, LOOPBACK, hostOf, withPort } = require('./arguments.js');
const { findBinary } = require('./binary.js');
const { optionsAt, perhaps, publish, published, quoted } = require('./caller.js');
const { STEERING, install } = require('./group.js');
const { Log } = require('./log.js');
const methods = require('./methods.js');
const { report, verdictLines } = require('./report.js');
const { ReplyError, refuseUnanswered } = require('./resp.js');
const { IdleConnections, Route, Servers } = require('./servers.js');
const { ms } = require('./words.js');

/** How long, in milliseconds, a server may take to end before it is killed. */
const GRACE = 5000;

/** What `await server.await.…` rejects with: its message has the server's report. */
class AwaitError extends Error {
  name = 'AwaitError';
}

/** How many connections are ready for waits when no new ones are let in. */
const PREPARED = 4;

/** The groups of methods, by their names on a server. */
const GROUPS = {
  ...{ clock: methods.Clock, await: methods.Await, faults: methods.Faults, history: methods.History },
  ...{ locks: methods.Locks, semaphores: methods.Semaphores, latches: methods.Latches, rates: methods.Rates },
};

/** What a test runner's worker does before each test. */
const FRESH = Symbol('lockwheel.fresh');

/** From which level on findings fail a test. */
const LEVELS = ['off', 'violation', 'suspect'];

/** The parameters that this package sets. */
const OWN = ['port', 'bind', 'time', 'seed', 'loglevel', 'lock-history', 'slowlog-log-slower-than', 'slowlog-max-len'];

/** What `server.check()` rejects with: its message has the findings, or why there can be none, and the server's report. */
class FindingsError extends Error {
  name = 'FindingsError';

  constructor(verdict, report) {
    super([...verdictLines(verdict), report].join('\n'));
    this.findings = verdict.findings;
  }
}

/** A running server. */
class Server {
  #process;
  #ended;
  #log;
  #options;
  /** What a test asks and what steers the server go by connections of their own: a fault may hold one of them. */
  #commands;
  #steering;
  #idle;
  #isStopped = false;

  constructor(options, started) {
    this.#options = options;
    this.#use(started);
  }

  /** Speaks with this process from now on. */
  #use({ process, ended, log, access, servers }) {
    this.servers = servers;
    this.host = access.host;
    this.port = access.port;
    this.url = access.url;
    const parameters = new Arguments(this.#options.args);
    const others = servers.slice(1).map(({ role, host, port }) => {
      return { access: new Access({ host, port, tls: false }, parameters), isSentinel: role === 'sentinel' };
    });
    const all = new Servers([{ access, isSentinel: false }, ...others]);
    this.#commands = new Route(all);
    this.#steering = new Route(all, { isSteering: true });
    this.#idle = new IdleConnections(all);
    this[STEERING] = {
      // A server that runs a script without end hears of its own end by another.
      ask: (args, avoid) => this.#told(this.#steering.send(args, avoid)),
      own: (args) => this.#told(this.#commands.send(args)),
      until: (args) => this.#until(args),
      prepare: () => this.#prepare(),
      setExempt: (isExempt) => this.#commands.setExempt(isExempt),
    };
    for (const [name, Group] of Object.entries(GROUPS)) this[name] = new Group(this[STEERING]);
    this.#process = process;
    this.#isStopped = false;
    this.#ended = ended;
    this.#log = log;
  }

  #steer = (...args) => this.#told(this.#steering.send(args));

  command(...args) {
    refuseUnanswered(args);
    return this.#told(this.#commands.send(args));
  }

  /** An answer, of which an error says so if the server has ended. */
  async #told(answer) {
    try {
      return await answer;
    } catch (error) {
      const { exitCode, signalCode } = this.#process;
      if (error instanceof ReplyError || (exitCode === null && signalCode === null)) throw error;
      const how = this.#isStopped ? ': it was stopped' : ` (${signalCode ?? exitCode})`;
      const told = new Error(`the server has ended${how} (${error.message})`, { cause: error });
      throw Object.assign(told, error.code && { code: error.code });
    }
  }

  async reset({ keepClients = false } = {}) {
    if (this.#options.topology !== '') throw new Error('a topology is not reset: start another');
    this.#commands.close();
    this.#commands.setExempt(true);
    this.#idle.close();
    await this.#steer('CONTROL.RESET', ...(keepClients ? ['KEEPCLIENTS'] : []));
  }

  /**
   * As at its start, where a reset does not do: a topology begins anew, each of its servers on another port, and so does
   * a server that cannot be reset.
   */
  async [FRESH]() {
    const isReset = this.#options.topology === '' && (await this.reset().then(() => true, () => false));
    if (isReset) return;
    await this.stop();
    this.#use(await launch(this.#options));
  }

  async check({ level = this.#options.verify } = {}) {
    if (level === 'off') return;
    const verdict = await this.verify({ level });
    const isClean = verdict.findings.length === 0 && verdict.verdict !== 'inconclusive';
    if (!isClean) throw new FindingsError(verdict, await this.report());
  }

  async report() {
    const seed = new Arguments(this.#options.args).value('seed') || this.#options.seed;
    const title = `lockwheel on ${withPort(this.host, this.port)}, seed ${seed}`;
    const told = await report(this.#steer, this.#log.lines);
    const { asked } = this.#steering;
    const state = this.#steering.isHanging(0) ? 'hangs' : 'is down';
    const other = asked === 0 ? [] : [`server 0 ${state}: server ${asked} (${this.servers[asked].address}) tells`];
    return [title, ...other, told].join('\n');
  }

  async stop() {
    for (const connections of [this.#commands, this.#steering, this.#idle]) connections.close();
    this.#isStopped ||= this.#process.exitCode === null && this.#process.signalCode === null;
    this.#process.ref();
    this.#process.kill('SIGTERM');
    const impatience = setTimeout(() => this.#process.kill('SIGKILL'), GRACE);
    await this.#ended;
    clearTimeout(impatience);
  }

  // Older Nodes have no such symbol; what is compiled for them asks for this one.
  async [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]() {
    try {
      await this.check();
    } finally {
      await this.stop();
    }
  }

  /** Opens connections that stay: after a partition or a restart the server lets no new ones in. */
  async #prepare() {
    await Promise.all([this.#commands.prepare(), this.#idle.prepare(PREPARED)]);
  }

  /** Waits on a connection of its own, so that the test goes on meanwhile on the other. */
  async #until(args) {
    const reply = await this.#told(this.#idle.ask(args));
    if (reply !== null) return reply;
    throw new AwaitError(`${args.join(' ')}: not within the limit\n${await this.report()}`);
  }
}

install(Server, (name) => name, methods.serverMethods);
publish(Server, (name) => name, {
  reset: optionsAt(0, 'keepClients'),
  check: optionsAt(0, 'level'),
});

async function start(options = {}) {
  const { time = 'real', seed = 0, args = [], binary = undefined, verify: level = 'off', topology } = options;
  if (!LEVELS.includes(level)) {
    throw new RangeError(`verify is one of ${LEVELS.join(', ')}, not '${level}'${perhaps(String(level), LEVELS)}`);
  }
  if (typeof time !== 'string' && typeof time?.toISOString !== 'function') {
    throw new TypeError(`time is 'real', 'manual' or a Date, not ${time}`);
  }
  refuseTypes({ args, binary, topology });
  if (topology !== undefined && String(topology).trim() === '') {
    throw new RangeError(`topology is 'replicas N', 'sentinel N' or 'cluster M[xN]', not '${topology}'`);
  }
  const inVain = OWN.find((name) => new Arguments(String(topology ?? '').split(/\s+/)).has(name));
  if (inVain !== undefined) {
    throw new RangeError(`topology has --${inVain}, which would have no effect there: it belongs into args`);
  }
  if (args.includes('--sentinel')) {
    const others = "topology: 'sentinel 3' has some";
    throw new RangeError(`args have --sentinel: a sentinel does not say that it is ready; ${others}`);
  }
  const parameters = Object.entries(methods.PARAMETERS).flatMap(([name, parameter]) => {
    return options[name] === undefined ? [] : [`--${parameter}`, shown(name, options[name])];
  });
  const wanted = { time, seed, args: args.map(String), binary, verify: level, topology: topology ?? '', parameters };
  return new Server(wanted, await launch(wanted));
}

/** Throws a TypeError for options that are of other types than they have to be. */
function refuseTypes({ args, binary, topology }) {
  if (!Array.isArray(args)) throw new TypeError(`args is a list of words, not ${args}`);
  const isWord = (each) => ['string', 'number', 'bigint', 'boolean'].includes(typeof each);
  if (!args.every(isWord)) {
    const other = quoted(args.find((each) => !isWord(each)));
    throw new TypeError(`args is a list of words such as ['--threads', '2']: ${other} is no word`);
  }
  if (typeof (binary ?? '') !== 'string') throw new TypeError(`binary is the path of a program, not ${quoted(binary)}`);
  if (typeof (topology ?? '') !== 'string') {
    throw new TypeError(`topology is a string such as 'sentinel 3 --replicas 1', not ${quoted(topology)}`);
  }
}

/** The value of a parameter, as the command line has it. */
function shown(name, value) {
  if (name.endsWith('Ms')) return String(ms(value));
  return typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value);
}

/** Starts a server and resolves when it accepts connections. */
const startServer = published(start, 'startServer', optionsAt(0, ...methods.OPTIONS));

/** Starts the process of a server. */
async function launch(options) {
  const parameters = new Arguments(options.args);
  const isOverTls = parameters.has('tls-port') || parameters.has('tls-port-file');
  if (isOverTls || parameters.value('unixsocket') === '') return launchWith(options, parameters, isOverTls);
  // Beside a unix socket, 0 is no port unless a file waits for its number.
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'lockwheel-'));
  try {
    return await launchWith(options, parameters, isOverTls, ['--port-file', path.join(folder, 'port')]);
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

async function launchWith(wanted, parameters, isOverTls, more = []) {
  const { time, seed, binary, topology } = wanted;
  const program = findBinary(binary);
  const words = programArguments(topology, time, seed, parameters, [...wanted.parameters, ...more]);
  const child = spawn(program, words, { stdio: ['ignore', 'pipe', 'pipe'] });
  const log = new Log();
  log.read(child.stdout);
  log.read(child.stderr);
  // 'close', not 'exit': then all that it printed has been read.
  const ended = once(child, 'close');
  const failed = ended.then(
    ([code, signal]) => Promise.reject(new Error(`${program} has ended (${signal ?? code}): ${log.fromStart()}`)),
    (error) => Promise.reject(new Error(`${named(program, binary)} does not start: ${error.message}`)),
  );
  const ready = await Promise.race([log.ready(isOverTls), failed]).catch((error) => {
    child.kill('SIGKILL');
    throw error;
  });
  // A server that nobody has stopped does not keep the process alive; it ends with it.
  for (const handle of [child, child.stdout, child.stderr]) handle.unref();
  try {
    const host = log.servers[0]?.host ?? hostOf(parameters.values('bind'));
    const access = new Access({ ...ready, host }, parameters);
    const servers = log.servers.map(({ role, ...member }) => {
      const { address, url } = new Access({ ...member, tls: false }, parameters);
      return { role, ...member, address, url };
    });
    return { process: child, ended, log, access, servers };
  } catch (error) {
    // A certificate that its arguments name cannot be read.
    child.kill('SIGKILL');
    throw error;
  }
}

/** The program, and the variable that names it if none of the options does. */
function named(program, binary) {
  return !binary && process.env.LOCKWHEEL_BINARY ? `LOCKWHEEL_BINARY, ${path.resolve(program)},` : program;
}

function programArguments(topology, time, seed, { leading, parameters }, more) {
  return [
    ...(topology === '' ? [] : ['topology', ...topology.trim().split(/\s+/)]),
    // A configuration file stands first.
    ...leading,
    ...['--port', '0', '--bind', LOOPBACK, '--exit-with-parent', '--loglevel', 'warning'],
    ...['--time', typeof time === 'string' ? time : time.toISOString(), '--seed', String(seed)],
    // What a report shows as the history of locks and as the last commands.
    ...['--lock-history', 'yes'],
    ...['--slowlog-log-slower-than', '0', '--slowlog-max-len', '64'],
    ...more,
    ...parameters,
  ];
}

module.exports = { AwaitError, FRESH, FindingsError, Server, startServer };
