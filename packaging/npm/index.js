'use strict';

const { attach } = require('./lib/group.js');
const { ACTIONS, CLIENTS } = require('./lib/methods.js');
const { AwaitError, FindingsError, startServer } = require('./lib/server.js');
const { ReplyError } = require('./lib/resp.js');
const { Action, Clients } = require('./lib/words.js');

attach(Action, ACTIONS);
attach(Clients, CLIENTS);

module.exports = { Action, AwaitError, Clients, ReplyError, FindingsError, startServer };
