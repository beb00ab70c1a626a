import { describe, expect, test } from '@jest/globals'
import {
  BrokerError,
  overloaded,
  pamError,
  upstreamTemporarilyUnavailable,
  upstreamTimeout,
  upstreamUnavailable,
} from '../../src/errors.ts'
import { DependencyFailure, failureFields } from '../../src/observability/dependency-failure.ts'
import { failureFromUpstream, PamFailure } from '../../src/pam/upstream/pam-errors.ts'
import { toStoreError } from '../../src/store/redis-errors.ts'
import { UpstreamFailure } from '../../src/upstream/upstream-failure.ts'
import { collectLog } from './collect-log.ts'

const reply = (message: string) => ({ name: 'ReplyError', message })
const failure = (...[kind, code]: [ConstructorParameters<typeof UpstreamFailure>[0], string?]) =>
  new UpstreamFailure(kind, code === undefined ? {} : { code })

const refused = upstreamUnavailable(failure('unreachable', 'ECONNREFUSED'))
const timedOut = upstreamTimeout(failure('timeout', 'TimeoutError'))
const openBreaker = upstreamTemporarilyUnavailable(2, failure('breaker_open'))
const refusedToken = upstreamTemporarilyUnavailable(30, new DependencyFailure('token_refused'))
const lostByPam = failureFromUpstream(failure('connection_lost', 'UND_ERR_SOCKET')).toBrokerError()
const noSentinel = new Error('All sentinels are unreachable. Retrying from scratch after 50ms.')

test.each<[string, BrokerError, dependency: string, outcome: string, code?: string]>([
  ['connection to the org refused', refused, 'authn', 'unreachable', 'ECONNREFUSED'],
  ['the org timed out', timedOut, 'authn', 'timeout', 'TimeoutError'],
  ['the breaker is open', openBreaker, 'authn', 'breaker_open'],
  ['the API token is refused', refusedToken, 'authn', 'token_refused'],
  ['PAM closed the connection', lostByPam, 'pam', 'connection_lost', 'UND_ERR_SOCKET'],
  ['an error of PAM', new PamFailure('disabled_team').toBrokerError(), 'pam', 'disabled_team'],
  ['Redis is unreachable', toStoreError({ code: 'ECONNREFUSED' }), 'store', 'unreachable', 'ECONNREFUSED'],
  ['an error without a code', toStoreError(noSentinel), 'store', 'unreachable', 'sentinels unreachable'],
  ['Redis is full', toStoreError(reply('OOM command not allowed')), 'store', 'refused', 'OOM'],
  ['Redis is too slow', toStoreError(new Error('Command timed out')), 'store', 'timeout', 'timeout'],
])('the fields dependency, outcome and code: %s', (_name, error, dependency, outcome, ...code) => {
  expect(failureFields(error)).toEqual({ dependency, outcome, ...(code.length > 0 ? { code: code[0] } : {}) })
})

test('an invalid response has the status', () => {
  const invalid = new DependencyFailure('invalid_response', { upstreamStatus: 502 })
  const fields = { dependency: 'authn', outcome: 'invalid_response', upstreamStatus: 502 }
  expect(failureFields(upstreamUnavailable(invalid))).toEqual(fields)
})

describe('a code that may contain an address or a value is omitted', () => {
  test.each(['org.example.com', '10.0.0.7:6379', '/very/secret', 'a=b', `E${'X'.repeat(64)}`])(
    '%s',
    (code) => {
      expect(failureFields(upstreamUnavailable(failure('connection_lost', code)))).toEqual({
        dependency: 'authn',
        outcome: 'connection_lost',
      })
      expect(failureFields(toStoreError({ code })).code).toBeUndefined()
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
    log.warn('attempt_refund_failed', { requestId: 'r' }, toStoreError(reply('OOM command not allowed')))
    expect(lines()[0]).toMatchObject({ requestId: 'r', dependency: 'store', outcome: 'refused', code: 'OOM' })
    expect(lines()[0]).not.toHaveProperty('error')
  })

  test('an error without a dependency has no such field', () => {
    expect(failureFields(overloaded())).toEqual({})
    expect(new BrokerError(500, 'E0000009', 'x').dependency).toBeUndefined()
  })
})
