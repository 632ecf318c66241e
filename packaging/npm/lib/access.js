'use strict';
// How a server is reached: what its arguments and its ready line say of address, password and TLS.

const fs = require('node:fs');
const { withPort } = require('./arguments.js');

/** Where a server listens that was started with these parameters; `tls`: for clients over TLS alone. */
class Access {
  constructor({ host, port, tls }, parameters) {
    const option = (name) => parameters.value(name);
    this.host = host;
    this.port = port;
    this.address = withPort(host, port);
    /** The default user's; empty: none is asked for. */
    this.password = option('requirepass');
    const login = this.password === '' ? '' : `:${encodeURIComponent(this.password)}@`;
    this.url = `${tls ? 'rediss' : 'redis'}://${login}${this.address}`;
    /** What `node:net`, or `node:tls` where this has certificates, connects to. */
    this.options = { host, port, ...(tls && overTls(option)) };
    this.tls = tls;
  }
}

/** Trusts the certificates that the arguments name, and no others, and shows the client's, or else the server's own. */
function overTls(option) {
  const read = (name) => (option(name) === '' ? undefined : fs.readFileSync(option(name)));
  const of = option('tls-client-cert-file') === '' ? 'tls' : 'tls-client';
  const shown = option('tls-auth-clients') !== 'no' && {
    cert: read(`${of}-cert-file`),
    key: read(`${of}-key-file`),
    passphrase: option(`${of}-key-file-pass`) || undefined,
  };
  return {
    ca: [read('tls-ca-cert-file'), read('tls-cert-file')].filter((file) => file !== undefined),
    // The server's own certificate may be trusted, though it signs no others.
    allowPartialTrustChain: true,
    // It was started on this address, whatever names its certificate has.
    checkServerIdentity: () => undefined,
    ...shown,
  };
}

module.exports = { Access };
