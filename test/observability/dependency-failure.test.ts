import { describe, expect, test } from '@jest/globals'
import {
  BrokerError,
  pamError,
  storeUnavailable,
  temporarilyUnavailable,
  upstreamTemporarilyUnavailable,
  upstreamTimeout,
  upstreamUnavailable,
} from '../../src/errors.ts'
import { DependencyFailure, failureFields } from '../../src/observability/dependency-failure.ts'
import { failureFromUpstream, PamFailure } from '../../src/pam/upstream/pam-errors.ts'
import { sentinelsUnreachable, timeout, toRedisFailure } from '../../src/store/redis-errors.ts'
import { UpstreamFailure } from '../../src/upstream/upstream-failure.ts'
import { collectLog } from './collect-log.ts'

const redis = (error: object) => storeUnavailable(toRedisFailure(error, timeout))
const reply = (message: string) => ({ name: 'ReplyError', message })
const failure = (...[kind, code]: [ConstructorParameters<typeof UpstreamFailure>[0], string?]) =>
  new UpstreamFailure(kind, code === undefined ? {} : { code })

describe('the fields dependency, outcome and code', () => {
  test.each<[string, BrokerError, object]>([
    [
      'connection to the org refused',
      upstreamUnavailable(failure('unreachable', 'ECONNREFUSED')),
      { dependency: 'authn', outcome: 'unreachable', code: 'ECONNREFUSED' },
    ],
    [
      'invalid certificate',
      upstreamUnavailable(failure('unreachable', 'DEPTH_ZERO_SELF_SIGNED_CERT')),
      { dependency: 'authn', outcome: 'unreachable', code: 'DEPTH_ZERO_SELF_SIGNED_CERT' },
    ],
    [
      'the org timed out',
      upstreamTimeout(failure('timeout', 'TimeoutError')),
      { dependency: 'authn', outcome: 'timeout', code: 'TimeoutError' },
    ],
    [
      'no time left for the call',
      upstreamTimeout(new DependencyFailure('timeout')),
      { dependency: 'authn', outcome: 'timeout' },
    ],
    [
      'the breaker is open',
      upstreamTemporarilyUnavailable(2, failure('breaker_open')),
      { dependency: 'authn', outcome: 'breaker_open' },
    ],
    [
      'the API token is refused',
      upstreamTemporarilyUnavailable(30, new DependencyFailure('token_refused')),
      { dependency: 'authn', outcome: 'token_refused' },
    ],
    [
      'an invalid response',
      upstreamUnavailable(new DependencyFailure('invalid_response', { upstreamStatus: 502 })),
      { dependency: 'authn', outcome: 'invalid_response', upstreamStatus: 502 },
    ],
    [
      'PAM closed the connection',
      failureFromUpstream(failure('connection_lost', 'UND_ERR_SOCKET')).toBrokerError(),
      { dependency: 'pam', outcome: 'connection_lost', code: 'UND_ERR_SOCKET' },
    ],
    [
      'an error of PAM',
      new PamFailure('disabled_team').toBrokerError(),
      { dependency: 'pam', outcome: 'disabled_team' },
    ],
    [
      'Redis is unreachable',
      redis({ code: 'ECONNREFUSED' }),
      { dependency: 'store', outcome: 'unreachable', code: 'ECONNREFUSED' },
    ],
    [
      'an error without a code',
      redis(sentinelsUnreachable()),
      { dependency: 'store', outcome: 'unreachable', code: 'sentinels unreachable' },
    ],
    [
      'Redis is full',
      redis(reply('OOM command not allowed')),
      { dependency: 'store', outcome: 'refused', code: 'OOM' },
    ],
    [
      'the Redis server is a replica',
      redis(reply('READONLY replica')),
      { dependency: 'store', outcome: 'refused', code: 'READONLY' },
    ],
    [
      'Redis is too slow',
      redis(new Error('unnamed')),
      { dependency: 'store', outcome: 'timeout', code: 'timeout' },
    ],
    [
      'Redis failed a moment ago',
      storeUnavailable(new DependencyFailure('fail_fast')),
      { dependency: 'store', outcome: 'fail_fast' },
    ],
  ])('%s', (_name, error, expected) => {
    expect(failureFields(error)).toEqual(expected)
  })
})

describe('a code that may contain an address or a value is omitted', () => {
  test.each(['org.example.com', '10.0.0.7:6379', '/very/secret', 'a=b', `E${'X'.repeat(64)}`])(
    '%s',
    (code) => {
      expect(failureFields(upstreamUnavailable(failure('connection_lost', code)))).toEqual({
        dependency: 'authn',
        outcome: 'connection_lost',
      })
      expect(failureFields(redis({ code })).code).toBeUndefined()
    },
  )

  test('a message of another library', () => {
    const cause = Object.assign(new Error('connect to very-secret.example'), { code: 'ESECRET' })
    expect(failureFields(upstreamUnavailable(cause))).toEqual({ dependency: 'authn' })
  })

  test('a circular chain of causes', () => {
    const cause = new Error('own')
    cause.cause = cause
    expect(failureFields(pamError(502, 'pam_unexpected', { cause }))).toEqual({ dependency: 'pam' })
  })
})

describe('in the log', () => {
  test('fields replace the stack', () => {
    const { log, lines } = collectLog()
    log.warn('attempt_refund_failed', { requestId: 'r' }, redis(reply('OOM command not allowed')))
    expect(lines()[0]).toMatchObject({ requestId: 'r', dependency: 'store', outcome: 'refused', code: 'OOM' })
    expect(lines()[0]).not.toHaveProperty('error')
  })

  test('an unknown failure may be a bug, so its stack is logged', () => {
    const { log, lines, text } = collectLog()
    log.warn('dependency_failed', {}, upstreamUnavailable(new RangeError('very-secret')))
    expect(lines()[0]).toMatchObject({ dependency: 'authn', error: { name: 'RangeError' } })
    expect(JSON.stringify(lines()[0])).toContain('dependency-failure.test.ts')
    expect(text()).not.toContain('very-secret')
  })

  test('an error without a dependency has no such field', () => {
    expect(failureFields(temporarilyUnavailable(2, new Error('load is shed: lag')))).toEqual({})
    expect(new BrokerError(500, 'E0000009', 'x').dependency).toBeUndefined()
  })
})
