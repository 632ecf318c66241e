'use strict';
// The servers of a test runner's worker: started once, shared by its test files.

const { startServer } = require('./server.js');

const starting = new Map();

/** The worker's server with these options; the first call starts it. */
function workerServer(options = {}) {
  const name = JSON.stringify(options);
  if (!starting.has(name)) starting.set(name, startServer(options));
  return starting.get(name);
}

/** Ends them, where a worker can end without its process. */
async function endWorkerServers() {
  const servers = await Promise.all(starting.values());
  starting.clear();
  await Promise.all(servers.map((server) => server.stop()));
}

module.exports = { endWorkerServers, workerServer };
