'use strict';
// The servers of a test runner's worker: started once, shared by its test files.

const { FRESH, startServer } = require('./server.js');

const starting = new Map();

/** The worker's server with these options; the first call starts it. */
function workerServer(options = {}) {
  const name = JSON.stringify(options);
  if (!starting.has(name)) starting.set(name, startServer(options));
  return starting.get(name);
}

/** Makes one as it was at its start; REDIS_URL says where it is. */
async function refresh(server, env) {
  await server[FRESH]();
  env.REDIS_URL = server.url;
}

/** Ends them, where a worker can end without its process. */
async function endWorkerServers() {
  const servers = await Promise.all(starting.values());
  starting.clear();
  await Promise.all(servers.map((server) => server.stop()));
}

module.exports = { endWorkerServers, refresh, workerServer };
