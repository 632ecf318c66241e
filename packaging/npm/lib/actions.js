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

  static dropRequest = (options) => new Action('DROPREQUEST', ...time('Action.dropRequest', options, 'closeAfter'));
  static dropReply = (options) => new Action('DROPREPLY', ...time('Action.dropReply', options, 'closeAfter'));
  static delay = (by, options) => new Action('DELAY', milliseconds(by), ...time('Action.delay', options, 'jitter'));
  static delayReply = (by, options) =>
    new Action('DELAYREPLY', milliseconds(by), ...time('Action.delayReply', options, 'jitter'));
  static hold = () => new Action('HOLD');
  static holdReply = () => new Action('HOLDREPLY');
  static error = (text) => new Action('ERROR', text);
  static replyNull = () => new Action('REPLY', 'NULL');
  static replyOk = () => new Action('REPLY', 'OK');
  static replyInt = (number) => new Action('REPLY', 'INT', number);
  static replyBulk = (text) => new Action('REPLY', 'BULK', text);
  static replyRaw = (bytes) => new Action('REPLY', 'RAW', bytes);
  static close = () => new Action('CLOSE');
  static closeAfter = () => new Action('CLOSEAFTER');
  static reset = () => new Action('RESET');
  static resetAfter = () => new Action('RESETAFTER');
  static slice = (bytes, options) => new Action('SLICE', bytes, ...time('Action.slice', options, 'every'));
  static bandwidth = (kilobytes) => new Action('BANDWIDTH', kilobytes);
  static truncate = (bytes) => new Action('TRUNCATE', bytes);
  static duplicate = () => new Action('DUPLICATE');
  static losePublish = () => new Action('LOSEPUBLISH');
  static noScript = () => new Action('NOSCRIPT');
  static expire = () => new Action('EXPIRE');
  static argAdd = (index, by) => new Action('ARG', index, 'ADD', by);
  static timeShift = () => new Action('TIMESHIFT');
}

/** The one option of an action, a duration, behind its word. */
function time(shown, given = {}, name) {
  checkOptions(shown, given, [name]);
  return options({ [name]: given[name] === undefined ? undefined : milliseconds(given[name]) });
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
