/**
 * Replaces `@jest/globals`. Each test file has its own functions, but modules of test/support are
 * loaded once for many test files, so each access goes to the functions of the current test file.
 */
let current

/** @param globals the functions of the next test file */
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
