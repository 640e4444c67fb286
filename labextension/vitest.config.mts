import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['tests/**/*.test.{ts,tsx}'],
    // All files share one thread with its modules and its page, which take most of the time to make; see the setup file.
    pool: 'threads',
    maxWorkers: 1,
    isolate: false,
    setupFiles: ['tests/sharedPage.ts']
  }
});
