/**
 * Stands for `@jest/globals`. Each test file has functions of its own, but a module of test/support is loaded once and used by many
 * test files: each access goes to the functions of the file that runs.
 */
let current

/** @param globals the functions of the test file that runs from now on */
export function setGlobals(globals) {
  current = globals
}

const forward = (name) =>
  new Proxy(() => undefined, {
    apply: (_target, _this, args) => current[name](...args),
    get: (_target, key) => current[name][key],
  })

export const afterAll = forward('afterAll')
export const afterEach = forward('afterEach')
export const beforeAll = forward('beforeAll')
export const beforeEach = forward('beforeEach')
export const describe = forward('describe')
export const expect = forward('expect')
export const jest = forward('jest')
export const test = forward('test')
