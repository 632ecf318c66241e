'use strict';

const { Action, Clients } = require('./lib/actions.js');
const { AwaitError, FindingsError, startServer } = require('./lib/server.js');
const { ReplyError } = require('./lib/resp.js');

module.exports = { Action, AwaitError, Clients, ReplyError, FindingsError, startServer };
