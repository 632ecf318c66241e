'use strict';
// A report joined to the error that a test runner prints.

/** Appends a report to an error's message, and to the copy of the message that its stack begins with. */
function attach(error, report) {
  if (typeof error?.message !== 'string') return;
  const message = `${error.message}\n\n${report}\n`;
  if (typeof error.stack === 'string') error.stack = error.stack.replace(error.message, () => message);
  error.message = message;
}

module.exports = { attach };
