import { fileURLToPath } from 'node:url'
import everyday from '../../jest.config.mjs'

const { runtime: _runtime, ...rest } = everyday

/** jest's own runtime, which loads the modules anew for each run: a mutant outside of functions takes effect then. */
export default {
  ...rest,
  rootDir: '../..',
  testEnvironment: fileURLToPath(new URL('stop-at-first-failure.mjs', import.meta.url)),
}
