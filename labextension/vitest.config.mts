import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['tests/**/*.test.{ts,tsx}'],
    // Only guards against a test that never ends: a loaded machine takes many times what a quiet one does.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // All files share one thread with its modules and its page, which take most of the time to make; see the setup file.
    pool: 'threads',
    maxWorkers: 1,
    isolate: false,
    setupFiles: ['tests/sharedPage.ts']
  }
});
