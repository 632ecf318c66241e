import { server } from 'lockwheel/vitest';
import { expect, test } from 'vitest';

for (const turn of [1, 2, 3]) {
  test(`one server, reset before test ${turn}`, async () => {
    expect(process.env.REDIS_URL).toBe(server.url);
    expect(await server.command('EXISTS', 'left')).toBe(0);
    expect((await server.clock.info()).mode).toBe('real');
    expect(await server.report()).toContain('seed 42');
    await server.command('SET', 'left', 'behind');
    await server.clock.freeze();
  });
}
