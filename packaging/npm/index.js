'use strict';

const { AwaitError, startServer } = require('./lib/server.js');
const { ReplyError } = require('./lib/resp.js');

module.exports = { AwaitError, ReplyError, startServer };
