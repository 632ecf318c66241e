'use strict';
// A report joined to the error that a test runner prints.

/** How a report begins, behind what an error says. */
const REPORT = /\n+lockwheel on \S+:\d+, seed /;

/** Whether the message of an error has a report: what was awaited in vain has, and so have findings. */
function hasReport(error) {
  return REPORT.test(error?.message ?? '');
}

/** Appends a report to an error's message, and to the copy of the message that its stack begins with. */
function attach(error, report) {
  if (typeof error?.message !== 'string') return;
  const message = `${error.message}\n\n${report}\n`;
  if (typeof error.stack === 'string') error.stack = error.stack.replace(error.message, () => message);
  error.message = message;
}

/**
 * Has Vitest print an error with a report: this one, or else the one in the message. Vitest prints a message twice, in the
 * tree of tests and below, but the difference between expected and actual value once. So the report goes behind that.
 */
function show(error, report) {
  if (typeof error?.message !== 'string') return;
  if (report !== undefined) attach(error, report);
  const at = error.message.search(REPORT);
  const told = error.message.slice(at).trim();
  error.message = error.message.slice(0, at);
  error.diff = [error.diff, told].filter(Boolean).join('\n\n');
}

module.exports = { attach, hasReport, show };
