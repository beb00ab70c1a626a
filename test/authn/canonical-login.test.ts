import { describe, expect, test } from '@jest/globals'
import { createCanonicalLogin, createIsSameLogin } from '../../src/authn/canonical-login.ts'

const canonical = createCanonicalLogin(['Example.test', 'straße.test'])

describe('one person', () => {
  test.each([
    ['amelia.stone', 'AMELIA.Stone@EXAMPLE.TEST'],
    ['amelia.stone', '  amelia.stone\u00a0'],
    ['amelia.stone', 'ａｍｅｌｉａ．stone'],
    ['amelia.stone', 'amel\u0131a.stone'],
    ['amelia.stone', 'AMEL\u0130A.STONE'],
    ['amelia.stone', 'ame\u00adlia\u200b.sto\u2060ne\ufeff'],
    ['amelia.stone', 'amelia.stone@exa\u200dmple.test'],
    ['kim', '\u212aim'],
    ['groß', 'GROSS'],
    ['groß', 'gro\u1e9e'],
    ['οδυσσεύς', 'ΟΔΥΣΣΕΎΣ'],
    ['οδυσσεύς', 'οδυςςεύσ'],
    ['zoë', 'zoe\u0308'],
    ['anna maria', 'Anna \u3000 Maria'],
    ['bob', 'bob@strasse.test'],
  ])('%s: %j', (login, typed) => {
    expect(canonical(typed)).toBe(canonical(login))
  })
})

test.each([
  ['amelia.stone', 'amelia.stone@elsewhere.test'],
  ['amelia.stone', 'ameliastone'],
  ['amelia', 'amélia'],
  ['annamaria', 'anna maria'],
  ['bob', 'bob@example.test@example.test'],
])('two people: %s and %s', (one, other) => {
  expect(canonical(one)).not.toBe(canonical(other))
})

test.each([
  ['ada@corp.example', 'Ada@Corp.example', true],
  ['ada', 'ada@corp.example', true],
  ['ada', 'ada@partner.example', true], // the upstream takes a short name where it is one user's alone
  ['ada@corp.example', 'ada', true],
  ['ada@corp.example', 'ada@partner.example', false],
  ['ada@partner.example', 'ada@corp.example', false],
  ['ada', 'eve@corp.example', false],
  ['ada', 'adam@corp.example', false],
  ['ada', undefined, false],
])('a typed %j is of the user whom the upstream names %j: %p', (typed, named, is) => {
  const isSameLogin = createIsSameLogin(createCanonicalLogin(['corp.example']))
  expect(isSameLogin(typed, named)).toBe(is)
})
