'use strict';
// A connection to the server, opened by its first request and again after it was cut.

const net = require('node:net');
const tls = require('node:tls');
const { Push, ReplyError, Source, encode, isHanging, reply } = require('./resp.js');

/** What a server says that lets no more clients in, and closes the connection. */
const SHUT_OUT = 'max number of clients reached';

/** Requests are answered in order. It keeps the process alive only while an answer is awaited. */
class Connection {
  #access;
  #socket = null;
  #waiting = [];
  #isExempt;
  /** How many requests are not answered, and how many of them are probes. */
  #requests = 0;
  #probes = 0;
  /** MULTI was sent, and its end was not. */
  #isInTransaction = false;

  constructor(access, isExempt = true) {
    this.#access = access;
    this.#isExempt = isExempt;
  }

  /** Whether rules for faults leave out what it sends from now on. */
  async setExempt(isExempt) {
    this.#isExempt = isExempt;
    if (this.#socket !== null) await this.send(exemption(isExempt));
  }

  /**
   * Resolves when the server has answered a request that changes nothing, whatever it says: it lives. False if it
   * refuses all, as while it runs a script. A connection that was cut is opened again. In a transaction nothing is asked:
   * it would become a part of it.
   */
  async probe() {
    const isOpen = this.#socket !== null;
    if (isOpen && this.#isInTransaction) return true;
    this.#probes += 1;
    try {
      await this.send(exemption(this.#isExempt));
      return true;
    } catch (error) {
      if (error instanceof ReplyError) return !isHanging(error);
      if (!isOpen) throw error;
    } finally {
      this.#probes -= 1;
    }
    return this.probe();
  }

  /** Whether it waits for the reply to more than probes. */
  get hasRequests() {
    return this.#requests > this.#probes;
  }

  /** Sends a request; resolves to its reply, rejects with a ReplyError when the server refuses it. */
  send(args) {
    const answer = this.#send(args);
    const end = () => (this.#requests -= 1);
    this.#requests += 1;
    answer.then(end, end);
    return answer;
  }

  #send(args) {
    const request = encode(args);
    this.#note(args);
    if (this.#socket !== null) return this.#ask(request);
    this.#socket = this.#open();
    // In one piece: a server that lets nobody in has closed the connection when a second one comes.
    const socket = this.#socket;
    socket.cork();
    process.nextTick(() => socket.uncork());
    const { password } = this.#access;
    const login = password === '' ? Promise.resolve() : this.#ask(encode(['AUTH', password]));
    // A server that cannot be steered refuses it, and has no faults either.
    if (this.#isExempt) this.#ask(encode(exemption(true))).catch(this.#refuse);
    const answer = this.#ask(request);
    // Who is not let in is told of the password, not of the request.
    answer.catch(() => {});
    return login.then(() => answer);
  }

  /** Ends it. What is still awaited is rejected. */
  close() {
    const socket = this.#socket;
    if (socket === null) return;
    socket.destroy();
    this.#drop(socket, new Error('the connection to the server was closed'));
  }

  /** Ends it, where the server lets no more clients in: what is still awaited is told so. */
  #refuse = (error) => {
    const socket = this.#socket;
    if (socket === null || !(error instanceof ReplyError) || !error.message.includes(SHUT_OUT)) return;
    this.#drop(socket, error);
    socket.destroy();
  };

  #note([first]) {
    const name = ArrayBuffer.isView(first) ? Buffer.from(first).toString() : String(first);
    if (/^multi$/i.test(name)) this.#isInTransaction = true;
    else if (/^(exec|discard|reset)$/i.test(name)) this.#isInTransaction = false;
  }

  #ask(request) {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#socket.ref();
      this.#socket.write(request);
    });
  }

  #open() {
    const { options } = this.#access;
    const socket = (this.#access.tls ? tls : net).connect(options).setNoDelay();
    const source = new Source();
    const reader = this.#read(source);
    let reason = new Error('the connection to the server was closed');
    socket.on('data', (piece) => {
      source.push(piece);
      try {
        reader.next();
      } catch (error) {
        socket.destroy(error);
      }
    });
    socket.on('error', (error) => (reason = error));
    socket.on('end', () => this.#drop(socket, reason));
    socket.on('close', () => this.#drop(socket, reason));
    return socket;
  }

  *#read(source) {
    for (;;) {
      const value = yield* reply(source);
      if (value instanceof Push) continue;
      const { resolve, reject } = this.#waiting.shift();
      if (this.#waiting.length === 0) this.#socket.unref();
      if (value instanceof ReplyError) reject(value);
      else resolve(value);
    }
  }

  #drop(socket, reason) {
    if (this.#socket !== socket) return;
    this.#socket = null;
    this.#isInTransaction = false;
    const left = this.#waiting;
    this.#waiting = [];
    for (const { reject } of left) reject(ended(reason));
  }
}

/** An error for one waiting request: each gets a stack of its own. */
function ended(reason) {
  if (reason instanceof ReplyError) return new ReplyError(reason.message);
  return Object.assign(new Error(reason.message, { cause: reason }), reason.code && { code: reason.code });
}

function exemption(isExempt) {
  return ['FAULT.EXEMPT', isExempt ? 'ON' : 'OFF'];
}

module.exports = { Connection };
