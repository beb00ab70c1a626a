import { expect, test } from '@jest/globals'
import { toPamUserName } from '../../src/pam/pam-user-name.ts'

const local = { kind: 'login-local-part', domains: [{ domain: 'example.com', prefix: '' }] } as const
const two = {
  kind: 'login-local-part',
  domains: [
    { domain: 'corp.example', prefix: '' },
    { domain: 'partner.example', prefix: 'partner-' },
    { domain: 'lab.example', prefix: 'partner-lab-' },
  ],
} as const

test.each([
  '',
  '.',
  '..',
  'a\u0000b',
  'a\nb',
  'a\u0085b',
  'half \ud800 pair',
  // what a server may take for the end of a segment, or decode once more
  'a/b',
  'a\\b',
  'a%2fb',
  'a%5cb',
  'a%0ab',
  'a%',
  '%2e%2e',
  'a?b',
  'a#b',
  'a;b',
  '..;',
  // and their full-width forms, if it normalizes Unicode
  'a\uff0fb',
  'a\uff3cb',
  'a\uff05b',
  'a\uff1fb',
  'a\uff03b',
  'a\uff1bb',
  '\uff0e\uff0e',
  '\u2025',
])('%j is not a PAM user name', (login) => {
  expect(toPamUserName(login, { kind: 'login' })).toBeUndefined()
  expect(toPamUserName(`${login}@example.com`, local)).toBeUndefined()
})

test.each([
  'ada',
  'a.b',
  '..a',
  '...',
  'a b',
  "o'neil",
  'a+b',
  'a&b=c',
  'zoë.王',
  '\u{1f600}',
  'a:b',
  '~a',
  'a,b',
])('%j is a PAM user name', (login) => {
  expect(toPamUserName(login, { kind: 'login' })).toBe(login)
  expect(toPamUserName(`${login}@example.com`, local)).toBe(login)
})

test.each([
  'ada',
  'ada@elsewhere.org',
  '@example.com',
  '..@example.com',
  'ada@notexample.com',
  'ada@example.com.org',
])('%j has no mapped local part', (login) => {
  expect(toPamUserName(login, local)).toBeUndefined()
})

test('the PAM user name is the login, or its local part for a mapped domain in any letter case', () => {
  expect(toPamUserName('Ada@Example.com', { kind: 'login' })).toBe('Ada@Example.com')
  expect(toPamUserName('ada@EXAMPLE.com', local)).toBe('ada')
  expect(toPamUserName('a@b@example.com', local)).toBe('a@b')
})

test('each domain has its own prefix', () => {
  expect(toPamUserName('ada@corp.example', two)).toBe('ada')
  expect(toPamUserName('ada@Partner.example', two)).toBe('partner-ada')
  expect(toPamUserName('ada@lab.example', two)).toBe('partner-lab-ada')
  expect(toPamUserName('ada@example.com', two)).toBeUndefined()
})

test.each([
  'partner-ada@corp.example',
  'PARTNER-ada@corp.example',
  'partner-@corp.example',
  'partner-lab-ada@corp.example',
  'lab-ada@partner.example',
  '\uff50artner-ada@corp.example', // a full-width p: a directory may read it as a p
  'part\u00adner-ada@corp.example', // a soft hyphen: a directory may skip it
])('%j has no PAM user name, because the name would belong to another domain', (login) => {
  expect(toPamUserName(login, two)).toBeUndefined()
})

test.each(['VIP-ada@corp.example', 'v\u0131p-ada@corp.example', 'v\u0130p-ada@corp.example'])(
  '%j has no PAM user name, because a case-insensitive directory may read it as vip-ada',
  (login) => {
    const domains = [
      { domain: 'corp.example', prefix: '' },
      { domain: 'partner.example', prefix: 'vip-' },
    ]
    expect(toPamUserName(login, { kind: 'login-local-part', domains })).toBeUndefined()
  },
)

test('users of different domains never have the same PAM user name', () => {
  const parts = [
    'ada',
    'partner-',
    'Partner-ada',
    'lab-',
    'lab-ada',
    'partner-lab-ada',
    'partner-partner-ada',
  ]
  const owners = new Map<string, string>()
  for (const { domain } of two.domains) {
    for (const part of parts) {
      const name = toPamUserName(`${part}@${domain}`, two)?.toLowerCase()
      if (name === undefined) continue
      expect(owners.get(name) ?? domain).toBe(domain)
      owners.set(name, domain)
    }
  }
  expect(owners.size).toBeGreaterThan(parts.length)
})
