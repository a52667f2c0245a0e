import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['__test__/**/*.test.ts'],
    // Forks: each suite has a process of its own, whose descriptors the setup file counts.
    pool: 'forks',
    setupFiles: ['__test__/support/descriptors.ts'],
    testTimeout: 30_000,
  },
})
