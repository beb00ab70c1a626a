import everyday from '../../jest.config.mjs'

const { runtime: _runtime, testEnvironment: _environment, ...rest } = everyday

/** jest's own runtime, which loads the modules anew for each run: a mutant outside of functions takes effect then. */
export default { ...rest, rootDir: '../..' }
