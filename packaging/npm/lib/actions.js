'use strict';
// What rules for faults do, and whom they hit.

const { checkOptions } = require('./caller.js');
const { milliseconds, options } = require('./words.js');

/** What a rule does, as words behind DO. */
class Action {
  constructor(...words) {
    this.words = words;
    Object.freeze(this);
  }

  static dropRequest = (options) => new Action('DROPREQUEST', ...cut('Action.dropRequest', options));
  static dropReply = (options) => new Action('DROPREPLY', ...cut('Action.dropReply', options));
  static delay = (duration) => new Action('DELAY', milliseconds(duration));
  static delayReply = (duration) => new Action('DELAYREPLY', milliseconds(duration));
  static hold = () => new Action('HOLD');
  static holdReply = () => new Action('HOLDREPLY');
  static error = (text) => new Action('ERROR', text);
  static replyNull = () => new Action('REPLY', 'NULL');
  static replyOk = () => new Action('REPLY', 'OK');
  static replyInt = (number) => new Action('REPLY', 'INT', number);
  static replyBulk = (text) => new Action('REPLY', 'BULK', text);
  static close = () => new Action('CLOSE');
  static closeAfter = () => new Action('CLOSEAFTER');
  static truncate = (bytes) => new Action('TRUNCATE', bytes);
  static duplicate = () => new Action('DUPLICATE');
  static losePublish = () => new Action('LOSEPUBLISH');
  static noScript = () => new Action('NOSCRIPT');
  static expire = () => new Action('EXPIRE');
  static argAdd = (index, by) => new Action('ARG', index, 'ADD', by);
  static timeShift = () => new Action('TIMESHIFT');
}

function cut(shown, given = {}) {
  checkOptions(shown, given, ['closeAfter']);
  const after = given.closeAfter;
  return options({ closeAfter: after === undefined ? undefined : milliseconds(after) });
}

/** Some clients; `words` name them, and `ofRule` do so in a rule. */
class Clients {
  constructor(words, ofRule) {
    this.words = words;
    this.ofRule = ofRule;
    Object.freeze(this);
  }

  static id = (id) => new Clients([id], ['CLIENT', id]);
  static named = (pattern) => new Clients(['NAME', pattern], ['CLIENTNAME', pattern]);
  static lib = (pattern) => new Clients(['LIB', pattern], ['LIB', pattern]);
  static addr = (address) => new Clients(['ADDR', address]);
  static all = () => new Clients(['ALL']);
}

module.exports = { Action, Clients };
