import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['tests/**/*.test.{ts,tsx}'],
    // A thread begins sooner than a process, and each file has its own.
    pool: 'threads'
  }
});
