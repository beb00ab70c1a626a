import { describe, expect, test } from '@jest/globals'
import { parseRedisUrl } from '../../src/store/redis-url.ts'

describe('an invalid Redis URL is refused, and the error names the invalid part', () => {
  test.each([
    ['', /^scheme: must be one of redis, rediss, redis\+sentinel/],
    ['http://topsecret:6379', /^scheme: /],
    ['constructor://topsecret', /^scheme: /],
    ['redis:topsecret', /^scheme: /],
    ['redis://', /^host: is missing/],
    ['redis://a b:6379', /^host: is missing or malformed/],
    ['redis://a,b', /^host: must be exactly one/],
    ['redis+cluster://a,,b', /^host: is missing/],
    ['redis://a:0', /^port: /],
    ['redis://a:12ab', /^port: /],
    ['redis://a:', /^port: /],
    ['redis://topsecret@a', /^password: is missing/],
    ['redis://topsecret:@a', /^password: is empty/],
    ['redis://app:topsecret%zz@a', /^password: is not percent-encoded/],
    ['redis://topsecret%zz:pw@a', /^user: is not percent-encoded/],
    ['redis://a/topsecret', /^path: must be the number/],
    ['redis+cluster://a/1', /^path: a cluster has only database 0/],
    ['redis://a?topsecret=1', /^query: unknown parameter; allowed: none$/],
    ['redis+sentinel://a', /^query: name is missing/],
    ['redis+sentinel://a?name=x&name=y', /^query: name is given twice/],
    ['redis+sentinel://a?name=x&topsecret=1', /^query: unknown parameter; allowed: name, sentinelUsername/],
    [
      'redis+sentinel://a?name=x&sentinelUsername=topsecret',
      /^query: sentinelUsername needs a sentinelPassword/,
    ],
    ['redis://a#topsecret', /^scheme: /],
    ...[
      'redis://:topsecret@more@a',
      'redis://app:topsecret/more@a:6379/0',
      'redis://app:topsecret?more@a',
      'redis://:topsecret#more@a',
      'redis://:topsecret more@a',
      'redis+cluster://:topsecret/@h1:1,h2:2',
      'rediss+sentinel://:topsecret/more@h1/0?name=m&sentinelPassword=p@q',
    ].map((url): [string, RegExp] => [url, /^password: must be percent-encoded: @ as %40, \/ as %2F/]),
  ])('%s', (url, message) => {
    expect(() => parseRedisUrl(url)).toThrow(message)
    expect(() => parseRedisUrl(url)).not.toThrow(/topsecret/)
  })
})

describe('a Redis URL contains', () => {
  const none = { tls: false, credentials: undefined }

  test('the address of a standalone Redis', () => {
    expect(parseRedisUrl('redis://cache.internal')).toEqual({
      form: 'standalone',
      ...none,
      addresses: [{ host: 'cache.internal', port: 6379 }],
      db: 0,
    })
    expect(parseRedisUrl('REDISS://[::1]:7000/3')).toEqual({
      form: 'standalone',
      tls: true,
      credentials: undefined,
      addresses: [{ host: '::1', port: 7000 }],
      db: 3,
    })
  })

  test('the user and password, percent-decoded', () => {
    expect(parseRedisUrl('redis://:p%40ss%2Fw%3Ard%25@a').credentials).toEqual({ password: 'p@ss/w:rd%' })
    expect(parseRedisUrl('redis://ap%70:a:b@a/').credentials).toEqual({ username: 'app', password: 'a:b' })
  })

  test('the sentinels and the name of the primary', () => {
    expect(parseRedisUrl('redis+sentinel://app:pw@h1,h2:26380/2?name=mymaster')).toEqual({
      form: 'sentinel',
      tls: false,
      credentials: { username: 'app', password: 'pw' },
      addresses: [
        { host: 'h1', port: 26379 },
        { host: 'h2', port: 26380 },
      ],
      db: 2,
      sentinel: { masterName: 'mymaster', credentials: { username: 'app', password: 'pw' } },
    })
  })

  test.each([
    ['sentinelPassword=', undefined],
    ['sentinelPassword=s%20p', { password: 's p' }],
    ['sentinelUsername=watch&sentinelPassword=sp', { username: 'watch', password: 'sp' }],
  ])('the credentials for the sentinels: %s', (query, credentialsThere) => {
    expect(parseRedisUrl(`rediss+sentinel://app:pw@h1/0?name=m&${query}`)).toMatchObject({
      tls: true,
      credentials: { username: 'app', password: 'pw' },
      sentinel: { masterName: 'm', credentials: credentialsThere },
    })
  })

  test('the nodes of a cluster', () => {
    expect(parseRedisUrl('rediss+cluster://:pw@h1:1,[fe80::2]:2,h3')).toEqual({
      form: 'cluster',
      tls: true,
      credentials: { password: 'pw' },
      addresses: [
        { host: 'h1', port: 1 },
        { host: 'fe80::2', port: 2 },
        { host: 'h3', port: 6379 },
      ],
      db: 0,
    })
  })
})
