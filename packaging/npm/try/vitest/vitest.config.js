import { defineConfig } from 'vitest/config';

export default defineConfig({ test: { setupFiles: ['lockwheel/vitest'], provide: { lockwheel: { seed: 42, verify: 'violation' } } } });
