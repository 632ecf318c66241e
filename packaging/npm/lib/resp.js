'use strict';
// The protocol: requests written, replies of RESP2 and RESP3 read, in pieces as they come.

/** What the server answers to a request that it refuses. `code` is the first word: ERR, WRONGTYPE, … */
class ReplyError extends Error {
  constructor(text) {
    super(text);
    this.name = 'ReplyError';
    this.code = text.split(' ', 1)[0];
  }
}

/** How the refusals begin of a server that refuses nearly all, for a while. */
const HANGING = ['BUSY', 'LOADING', 'MASTERDOWN'];

/** Whether an error is the refusal of a server which refuses nearly all, and has done nothing. */
function isHanging(error) {
  return error instanceof ReplyError && HANGING.includes(error.code);
}

/** A request as an array of strings. Arguments are strings, numbers, bigints, booleans or bytes. */
function encode(args) {
  const parts = [Buffer.from(`*${args.length}\r\n`)];
  for (const arg of args) {
    const bytes = bytesOf(arg);
    parts.push(Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from('\r\n'));
  }
  return Buffer.concat(parts);
}

/** Throws a TypeError for what the server never answers. */
function refuseUnanswered(args) {
  if (args.length === 0) throw new TypeError('a command has a name: the server never answers an empty request');
  const [name, word, mode] = args.slice(0, 3).map((arg) => bytesOf(arg).toString().toUpperCase());
  if (name === 'CLIENT' && word === 'REPLY' && (mode === 'OFF' || mode === 'SKIP')) {
    const why = "has no reply, which a command waits for: send it on a connection of the test's own";
    throw new TypeError(`CLIENT REPLY ${mode} ${why}`);
  }
}

function bytesOf(arg) {
  return ArrayBuffer.isView(arg) ? Buffer.from(arg.buffer, arg.byteOffset, arg.byteLength) : Buffer.from(text(arg));
}

function text(arg) {
  if (['string', 'number', 'bigint', 'boolean'].includes(typeof arg)) return String(arg);
  const kind = arg === null ? 'null' : typeof arg;
  throw new TypeError(`an argument of a command is a string, a number or bytes, not ${kind}`);
}

/** Bytes that have come and are not read yet. */
class Source {
  #pieces = [];
  #length = 0;

  push(piece) {
    this.#pieces.push(piece);
    this.#length += piece.length;
  }

  /** The next `length` bytes; a generator that yields while they have not come. */
  *bytes(length) {
    while (this.#length < length) yield;
    return this.#take(length);
  }

  /** The text up to the next end of line. */
  *line() {
    for (;;) {
      const end = this.#joined().indexOf('\r\n');
      if (end >= 0) return this.#take(end + 2).toString('utf8', 0, end);
      yield;
    }
  }

  #joined() {
    if (this.#pieces.length !== 1) this.#pieces = [Buffer.concat(this.#pieces)];
    return this.#pieces[0];
  }

  #take(length) {
    const all = this.#joined();
    this.#pieces = [all.subarray(length)];
    this.#length -= length;
    return all.subarray(0, length);
  }
}

/** One reply; a generator that yields while there is not enough. Errors are values, also within an array. */
function* reply(source) {
  const line = yield* source.line();
  const [kind, rest] = [line[0], line.slice(1)];
  switch (kind) {
    case '+':
      return rest;
    case '-':
      return new ReplyError(rest);
    case ':':
    case '(':
      return integer(rest);
    case ',':
      return double(rest);
    case '#':
      return rest === 't';
    case '_':
      return null;
    case '$':
    case '!':
    case '=':
      return yield* bulk(source, kind, Number(rest));
    case '*':
    case '~':
    case '>':
    case '%':
      return yield* aggregate(source, kind, Number(rest));
    default:
      throw new Error(`no reply: ${JSON.stringify(line)}`);
  }
}

function* bulk(source, kind, length) {
  if (length < 0) return null;
  const bytes = (yield* source.bytes(length + 2)).subarray(0, length);
  if (kind === '!') return new ReplyError(bytes.toString());
  // A verbatim string begins with its format: `txt:`.
  return decoded(kind === '=' ? bytes.subarray(4) : bytes);
}

function* aggregate(source, kind, length) {
  if (length < 0) return null;
  const items = [];
  for (let left = kind === '%' ? 2 * length : length; left > 0; left -= 1) items.push(yield* reply(source));
  if (kind === '~') return new Set(items);
  if (kind === '>') return new Push(items);
  return kind === '%' ? new Map(pairs(items)) : items;
}

/** A message that answers no request. */
class Push {
  constructor(items) {
    this.items = items;
  }
}

/** A whole number; a bigint where a number would not be exact. */
function integer(digits) {
  const number = Number(digits);
  return Number.isSafeInteger(number) ? number : BigInt(digits);
}

function double(digits) {
  const named = { inf: Infinity, '-inf': -Infinity, nan: NaN };
  return digits in named ? named[digits] : Number(digits);
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** A string where the bytes are one, else the bytes. */
function decoded(bytes) {
  try {
    return utf8.decode(bytes);
  } catch {
    return Buffer.from(bytes);
  }
}

function pairs(items) {
  return Array.from({ length: items.length / 2 }, (_, index) => items.slice(2 * index, 2 * index + 2));
}

/** A reply of names and values, in either protocol, as an object. */
function fields(items) {
  return Object.fromEntries(items instanceof Map ? items : pairs(items));
}

module.exports = { ReplyError, Push, Source, encode, fields, isHanging, refuseUnanswered, reply };
