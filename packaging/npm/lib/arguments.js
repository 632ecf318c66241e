'use strict';
// The parameters of a command line, read as the server reads them.

const LOOPBACK = '127.0.0.1';
const LOOPBACK_6 = '::1';

/** Parameters that need no value. */
const COMPLETE = ['save', 'sentinel', 'exit-with-parent'];

/** A word, which may end with a part in quotes; in latin1, so that each letter is a byte. */
const WORD = /([^ \t\n\r"']*)(?:"((?:\\[^]|[^"\\])*)"|'((?:\\'|[^'])*)')?(?=[ \t\n\v\f\r]|$(?![^]))/y;

const ESCAPED = { n: '\n', r: '\r', t: '\t', b: '\b', a: '\x07' };

/** The words of a command line. */
class Arguments {
  /** The words before the first parameter: a configuration file. */
  leading = [];
  /** The words behind `leading`. */
  parameters;
  #read = [];

  constructor(words) {
    let isValue = false;
    for (const [index, word] of words.entries()) {
      if (word.startsWith('--') && !isValue) {
        const parameter = split(word.slice(2));
        const isComplete = COMPLETE.includes(parameter[0].toLowerCase()) && (words[index + 1] ?? '--').startsWith('--');
        isValue = parameter.length === 1 && !isComplete;
        this.#read.push(parameter);
      } else {
        (this.#read.at(-1) ?? this.leading).push(word);
        isValue = false;
      }
    }
    this.parameters = words.slice(this.leading.length);
  }

  /** The values of a parameter, where it stands last; empty if it is not there. */
  values(name) {
    return this.#read.filter(([word]) => word.toLowerCase() === name).at(-1)?.slice(1) ?? [];
  }

  /** The value of a parameter; empty if it is not there. */
  value(name) {
    return this.values(name)[0] ?? '';
  }

  has(name) {
    return this.#read.some(([word]) => word.toLowerCase() === name);
  }
}

/** The words of a line, unquoted; the line itself where its quotes have no end, which the server refuses. */
function split(line) {
  const text = Buffer.from(line).toString('latin1').replace(/^[ \t\n\v\f\r]+/, '');
  const words = [];
  for (let at = 0; at < text.length; ) {
    WORD.lastIndex = at;
    const found = WORD.exec(text);
    if (found === null) return [line];
    const [whole, bare, double = '', single = ''] = found;
    const word = bare + double.replace(/\\(?:x([0-9a-f]{2})|([^]))/gi, unescaped) + single.replaceAll("\\'", "'");
    words.push(Buffer.from(word, 'latin1').toString());
    at += whole.length;
    while (/[ \t\n\v\f\r]/.test(text[at] ?? '')) at += 1;
  }
  return words.length === 0 ? [''] : words;
}

function unescaped(_, digits, letter) {
  return digits === undefined ? (ESCAPED[letter] ?? letter) : String.fromCharCode(parseInt(digits, 16));
}

/** The address to connect to of a server that listens on these: a loopback address if it is among them. */
function hostOf(bound) {
  const words = bound.flatMap((each) => each.split(/\s+/)).filter((word) => word !== '');
  const addresses = words.map((word) => word.replace(/^-/, ''));
  const isAny = (...known) => addresses.some((address) => known.includes(address));
  if (addresses.length === 0 || isAny(LOOPBACK, '0.0.0.0', '*')) return LOOPBACK;
  return isAny(LOOPBACK_6, '::', '::*') ? LOOPBACK_6 : addresses[0];
}

/** An address and a port, as URLs have them. */
function withPort(host, port) {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

module.exports = { Arguments, LOOPBACK, hostOf, split, withPort };
