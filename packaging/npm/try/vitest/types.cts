// The same package as a CommonJS module sees it.
import lockwheel = require('lockwheel');
import jest = require('lockwheel/jest');

export const url: Promise<string> = lockwheel.startServer({ time: 'manual' }).then((server) => server.url);
export const reset: Promise<void> = jest.server.reset();
