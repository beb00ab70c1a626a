import { rootCertificates } from 'node:tls'
import { expect, test } from '@jest/globals'
import {
  apiTokens,
  certificates,
  currentAndStandby,
  isOverTls,
  opsToken,
  redisUrl,
  secretKeys,
} from '../../src/config/secret-values.ts'
import { expectInvalid } from './parsers.ts'

test('a credential and its standby, separated by a comma or line break', () => {
  for (const parse of [currentAndStandby, apiTokens]) {
    expect(parse('one')).toEqual(['one'])
    for (const text of ['one,two', 'one\ntwo\n', 'one\r\ntwo', ' one ,\n two ']) {
      expect(parse(text)).toEqual(['one', 'two'])
    }
    expectInvalid(parse, 'must have one value or two: the current one and a standby', 'a,b,c')
    expectInvalid(parse, 'must be visible ASCII characters without spaces', 'a b')
    expectInvalid(parse, 'has no entry', ',', '')
  }
})

test('an API token has no scheme prefix', () => {
  expectInvalid(
    apiTokens,
    'must be the token alone, without SSWS before it',
    'SSWS abc',
    'ssws abc',
    'one,SSWS two',
  )
  expect(apiTokens('SSWSabc')).toEqual(['SSWSabc'])
  expectInvalid(apiTokens, 'must be visible ASCII characters without spaces', 'xSSWS abc')
})

test('OPS_TOKEN has a minimum length and only visible characters', () => {
  expect(opsToken('x'.repeat(16))).toBe('x'.repeat(16))
  expectInvalid(opsToken, 'must have 16 characters or more', '', 'x'.repeat(15))
  expectInvalid(opsToken, 'must be visible ASCII characters without spaces', 'long enough but with spaces')
})

const [ONE, TWO] = ['a', 'b'].map((text) => Buffer.concat([Buffer.from(text), Buffer.alloc(31, 7)])) as [
  Buffer,
  Buffer,
]
const MIXED = Buffer.from(`${'fb'.repeat(31)}ff`, 'hex') // base64 with + and /

test('secret keys: 32 bytes each in base64, in order', () => {
  for (const key of [ONE, MIXED]) {
    for (const text of [
      key.toString('base64'),
      key.toString('base64').replace('=', ''),
      key.toString('base64url'),
    ]) {
      expect(secretKeys(text)).toEqual([key])
    }
  }
  expect(secretKeys(` ${ONE.toString('base64')} ,\n${TWO.toString('base64url')}\r\n,`)).toEqual([ONE, TWO])
})

test('secret keys that are missing, not 32 bytes or not random are refused', () => {
  const key = ONE.toString('base64')
  expectInvalid(
    secretKeys,
    'must be keys of exactly 32 bytes in base64, comma-separated',
    ...[
      'c2hvcnQ=',
      `${key}AA`,
      `x${key}`,
      `!${key}`,
      `${key}=`,
      key.slice(1),
      `${MIXED.toString('base64').slice(0, 42)}-`,
    ],
    ...[`${key},short`, 'not base64 !', `${'/_'.repeat(21)}A`],
  )
  expectInvalid(secretKeys, 'must be random keys, not one repeated byte', Buffer.alloc(32).toString('base64'))
  expectInvalid(secretKeys, 'has the same key twice', `${key},${key}`, `${key},${ONE.toString('base64url')}`)
  expectInvalid(secretKeys, 'has no key', '', ',', ' \n')
})

test('a Redis URL is parsed by the store; memory: is refused in production', () => {
  const parse = (url: string) => {
    if (url === 'bad') throw new Error('host: is missing')
    if (url === 'odd') throw 'odd'
  }
  for (const production of [true, false]) {
    const read = redisUrl({ production, parse })
    expect(read('redis://redis')).toBe('redis://redis')
    expectInvalid(read, 'host: is missing', 'bad')
    expectInvalid(read, 'cannot be parsed', 'odd')
  }
  expect(redisUrl({ production: false, parse: () => expect('memory:').toBe('not parsed') })('memory:')).toBe(
    'memory:',
  )
  expectInvalid(
    redisUrl({ production: true, parse }),
    'must not be memory: in production: it works for one process only',
    'memory:',
  )
})

test.each([
  ['rediss://r', true],
  ['REDISS+cluster://r', true],
  ['rediss+sentinel://r', true],
  ['redis://r', false],
  ['redis+cluster://r', false],
  ['xrediss://r', false],
  ['redissx://r', false],
])('%s is over TLS: %s', (url, is) => {
  expect(isOverTls(url)).toBe(is)
})

test('certificates: each is complete, and text between them is removed', () => {
  const [one = '', two = ''] = rootCertificates.map((pem) => pem.trim())
  expect(certificates(one)).toBe(`${one}\n`)
  expect(certificates(`# first\n${one}\n# second\n${two}\n`)).toBe(`${one}\n${two}\n`)
  expectInvalid(certificates, 'has no PEM certificate', '', 'text', one.replace('BEGIN', 'BEGINNING'))
  const broken = one.replace(/\n[^-]{20}/, '\n')
  expectInvalid(certificates, 'certificate 1 cannot be read', broken, `${broken}\n${two}`)
  expectInvalid(certificates, 'certificate 2 cannot be read', `${one}\n${broken}`)
  const key = '-----BEGIN PRIVATE KEY-----\nplainly-fake\n-----END PRIVATE KEY-----'
  const rsa = key.replaceAll('PRIVATE', 'RSA PRIVATE')
  expectInvalid(
    certificates,
    'contains a private key: only certificates belong there',
    key,
    rsa,
    `${one}\n${key}`,
  )
})
