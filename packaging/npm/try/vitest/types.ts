// What a user writes, as the types of an ECMAScript module see it; checked, not run.
import { Action, AwaitError, Clients, FindingsError, ReplyError, startServer } from 'lockwheel';
import type { Entry, Finding, Reply, Rule, Server, ServerOptions } from 'lockwheel';

export async function everything(): Promise<void> {
  const options: ServerOptions = { time: new Date(0), seed: 1n, args: ['--maxclients', 10], binary: 'b', verify: 'suspect' };
  await using server: Server = await startServer(options);
  const where: string = `${server.url} ${server.host} ${server.port.toFixed()}`;
  const { fired, settled, wall } = await server.clock.advance(30_000, { settleMs: 5, limitMs: 100, nowake: true });
  const next: number | null = (await server.clock.info()).nextMs;
  const turned: number | undefined = (await server.clock.next(2))?.fired;
  await server.await.blocked(1, { key: 'list', limitMs: 10 });
  await server.await.key('list', 'GONE');
  await server.await.waiters('lock', 2, { exact: true });
  const seq: number = await server.await.event('lost', { key: 'order:*', since: 1, limitMs: 10 });
  await server.faults.add('slow', Action.delay(5), { on: 'SET', arg: [2, 'PX'], client: Clients.named('w'), times: 1 });
  const rules: Rule[] = await server.faults.list();
  await server.faults.partition(Clients.all(), 'IN');
  const entries: Entry[] = (await server.history.entries({ since: seq })).entries;
  const findings: readonly Finding[] = (await server.verify({ level: 'violation' })).findings;
  if (rules.length > entries.length) throw new FindingsError(findings[0]?.text);
  const leaseMs: number | null = (await server.locks.info('order:42', { full: true })).ttlMs;
  const granted: bigint | number = (await server.locks.acquire('a', 'me', { leaseMs: 10, mode: 'SHARED' }))?.token ?? 0;
  const reply: Reply = await server.command('SET', where, 1, new Uint8Array(1));
  if (reply instanceof ReplyError) throw new AwaitError(reply.code);
  // @ts-expect-error: a duration is a number of milliseconds
  await server.clock.advance('30s');
  // @ts-expect-error: no such matcher
  await server.faults.add('slow', Action.hold(), { onn: 'SET' });
  // @ts-expect-error: no such option
  await server.locks.acquire('a', 'me', { lease: 10 });
  // @ts-expect-error: no such option
  await startServer({ tme: 'manual' });
  console.log(fired.toFixed(), settled === true, wall.getTime(), next, turned, leaseMs, granted, await server.report());
}

declare const console: { log(...words: unknown[]): void };
