'use strict';
// Replies of every kind, however they are cut.

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { ReplyError, Push, Source, encode, fields, reply } = require('../lib/resp.js');

const REPLIES = [
  ['+OK\r\n', 'OK'],
  ['-WRONGTYPE no list\r\n', new ReplyError('WRONGTYPE no list')],
  [':-12\r\n', -12],
  [':9223372036854775807\r\n', 9223372036854775807n],
  ['$6\r\none\r\n2\r\n', 'one\r\n2'],
  ['$0\r\n\r\n', ''],
  ['$-1\r\n', null],
  ['*-1\r\n', null],
  ['*3\r\n:1\r\n*1\r\n$1\r\na\r\n-ERR x\r\n', [1, ['a'], new ReplyError('ERR x')]],
  ['_\r\n', null],
  ['#t\r\n', true],
  [',1.5\r\n', 1.5],
  [',-inf\r\n', -Infinity],
  ['(123456789012345678901\r\n', 123456789012345678901n],
  ['!5\r\nERR y\r\n', new ReplyError('ERR y')],
  ['=7\r\ntxt:abc\r\n', 'abc'],
  ['%1\r\n+k\r\n:1\r\n', new Map([['k', 1]])],
  ['~2\r\n:1\r\n:2\r\n', new Set([1, 2])],
  ['>2\r\n+message\r\n+m\r\n', new Push(['message', 'm'])],
];

/** The reply, read from pieces that end at these places. */
function read(bytes, cuts) {
  const source = new Source();
  const reader = reply(source);
  let result = reader.next();
  let from = 0;
  for (const cut of [...cuts, bytes.length]) {
    assert.equal(result.done, false, 'nothing is answered before the last piece');
    source.push(bytes.subarray(from, cut));
    from = cut;
    result = reader.next();
  }
  assert.equal(result.done, true);
  return result.value;
}

test('a reply is the same wherever it is cut', () => {
  for (const [text, wanted] of REPLIES) {
    const bytes = Buffer.from(text);
    assert.deepEqual(read(bytes, []), wanted, text);
    for (let cut = 1; cut < bytes.length; cut += 1) assert.deepEqual(read(bytes, [cut]), wanted, `${text} at ${cut}`);
    const everywhere = Array.from({ length: bytes.length - 1 }, (_, index) => index + 1);
    assert.deepEqual(read(bytes, everywhere), wanted, text);
  }
});

test('bytes that are no text stay bytes', () => {
  assert.deepEqual(read(Buffer.from([36, 50, 13, 10, 0xff, 0xfe, 13, 10]), []), Buffer.from([0xff, 0xfe]));
});

test('what is no reply is refused', () => {
  assert.throws(() => read(Buffer.from('HTTP/1.1 400\r\n'), []), /no reply: "HTTP/);
});

test('arguments are counted in bytes', () => {
  const lines = ['*5', '$3', 'SET', '$2', 'ü', '$1', '1', '$1', '2', '$4', 'true', ''];
  assert.equal(encode(['SET', 'ü', 1, 2n, true]).toString(), lines.join('\r\n'));
  assert.deepEqual(encode([new Uint8Array([0xff])]), Buffer.from([42, 49, 13, 10, 36, 49, 13, 10, 0xff, 13, 10]));
  assert.throws(() => encode(['SET', undefined]), /not undefined/);
  assert.throws(() => encode([null]), /not null/);
});

test('names and values are an object in both protocols', () => {
  assert.deepEqual(fields(['a', 1, 'b', null]), { a: 1, b: null });
  assert.deepEqual(fields(new Map([['a', 1]])), { a: 1 });
});
