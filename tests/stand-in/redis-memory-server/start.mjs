// redis-memory-server starts the system's program, by its option, with arguments, and by its environment variable.

import net from 'node:net';
import { once } from 'node:events';
import { RedisMemoryServer } from 'redis-memory-server';

const [program] = process.argv.slice(2);

/** The first line that the server answers to each of these. */
async function ask(server, ...requests) {
  const socket = net.connect(await server.getPort(), await server.getHost());
  const answers = [];
  for (const request of requests) {
    socket.write(`${request}\r\n`);
    answers.push(String((await once(socket, 'data'))[0]).split('\r\n')[0]);
  }
  socket.destroy();
  return answers.join(' ');
}

const plain = new RedisMemoryServer({ binary: { systemBinary: program } });
console.log('plain:', await ask(plain, 'PING'));
const { ip, port, instance } = plain.getInstanceInfo();
console.log('where:', ip, port === (await plain.getPort()), instance.getPid() > 0);
const taken = new RedisMemoryServer({ binary: { systemBinary: program }, instance: { port } });
console.log('another beside it:', await ask(taken, 'PING'), (await taken.getPort()) !== port);
await taken.stop();
console.log('stopped:', await plain.stop(), plain.getInstanceInfo());
await plain.start();
console.log('again:', await ask(plain, 'PING'), (await plain.getPort()) === port);
await plain.stop();

process.env.REDISMS_SYSTEM_BINARY = program;
const guarded = await RedisMemoryServer.create({
  instance: { args: ['--requirepass', 'a secret', '--maxmemory', '64mb'] },
  autoStart: true,
});
console.log('guarded:', await ask(guarded, 'PING', 'AUTH "a secret"', 'PING', 'CONFIG GET maxmemory'));
await guarded.stop();
