import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['tests/**/*.test.{ts,tsx}'],
    // A thread begins sooner than a process, and each file has its own.
    pool: 'threads',
    // Only guards against a test that never ends: a loaded machine takes many times what a quiet one does.
    testTimeout: 120_000,
    hookTimeout: 120_000
  }
});
