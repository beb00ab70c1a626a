import { fileURLToPath } from 'node:url'
import everyday from '../../jest.config.mjs'

const { runtime: _runtime, ...rest } = everyday

/** jest's own runtime reloads the modules for each run, so that mutants outside of functions take effect. */
export default {
  ...rest,
  rootDir: '../..',
  testEnvironment: fileURLToPath(new URL('stop-at-first-failure.mjs', import.meta.url)),
}
