import { describe, expect, test } from '@jest/globals'
import { createLoginNames } from '../src/login-names.ts'

const { canonical } = createLoginNames(['Example.test', 'straße.test'])

describe('the same user', () => {
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
])('different users: %s and %s', (one, other) => {
  expect(canonical(one)).not.toBe(canonical(other))
})

test.each([
  ['ada@corp.example', 'Ada@Corp.example', true],
  ['ada', 'ada@corp.example', true],
  ['ada', 'ada@partner.example', true], // Okta accepts a short name that only one user has
  ['ada@corp.example', 'ada', true],
  ['ada@corp.example', 'ada@partner.example', false],
  ['ada@partner.example', 'ada@corp.example', false],
  ['ada', 'eve@corp.example', false],
  ['ada', 'adam@corp.example', false],
  ['ada', undefined, false],
])('a typed %j belongs to the user whom Okta names %j: %p', (typed, named, is) => {
  expect(createLoginNames(['corp.example']).isSameUser(typed, named)).toBe(is)
})

describe('the users that a login may belong to', () => {
  test('with one LOGIN_DOMAIN, the short and the full name are the same user', () => {
    const { distinct, candidates } = createLoginNames(['corp.example'])
    expect(distinct('Ada@corp.example')).toBe(distinct('ada'))
    expect(candidates('ada')).toEqual([distinct('ada')])
  })

  test('with several LOGIN_DOMAINS, a short name may belong to a user of each domain', () => {
    const { canonical, distinct, candidates } = createLoginNames(['corp.example', 'Partner.example'])
    expect(canonical('ada@corp.example')).toBe(canonical('ada@partner.example'))
    expect(distinct('ada@corp.example')).not.toBe(distinct('ada@partner.example'))
    expect(candidates('Ada')).toEqual(['ada@corp.example', 'ada@partner.example'])
    expect(candidates('ADA@partner.example')).toEqual([distinct('ada@partner.example')])
    expect(candidates('ada@elsewhere.example')).toEqual(['ada@elsewhere.example'])
  })
})

test('a LOGIN_DOMAIN that is listed twice counts once; without any, domains are not removed', () => {
  const twice = createLoginNames(['corp.example', 'CORP.example'])
  expect(twice.candidates('ada')).toEqual(['ada'])
  expect(twice.distinct('ada@corp.example')).toBe('ada')
  const none = createLoginNames([])
  expect(none.candidates(' Ada')).toEqual(['ada'])
  expect(none.canonical('ada@corp.example')).toBe('ada@corp.example')
  expect(none.isSameUser('ada', 'ada@corp.example')).toBe(true)
})

test('with several LOGIN_DOMAINS, full names in different domains are different users', () => {
  const { isSameUser } = createLoginNames(['corp.example', 'partner.example'])
  expect(isSameUser('ada@corp.example', 'ada@partner.example')).toBe(false)
  expect(isSameUser('Ada@Corp.example', 'ada@corp.example')).toBe(true)
  expect(isSameUser('ada', 'ada@partner.example')).toBe(true)
})
