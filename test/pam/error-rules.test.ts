import { describe, expect, test } from '@jest/globals'
import {
  failureFromAnswer,
  failureFromUpstream,
  isPamOutcome,
  PAM_ERROR_NAMES,
  PAM_ERROR_POLICIES,
  PamFailure,
  type PamOutcome,
  type PamSubject,
  readErrorName,
} from '../../src/pam/upstream/pam-errors.ts'
import { UpstreamFailure } from '../../src/upstream/upstream-failure.ts'

test('an outcome is recognized by its name', () => {
  const names = [...Object.keys(PAM_ERROR_POLICIES), '', 'constructor', 'never_heard_of']
  expect(names.filter(isPamOutcome)).toEqual(Object.keys(PAM_ERROR_POLICIES))
})

describe('the name of an error response', () => {
  const nameOf = (status: number, json?: unknown) => readErrorName({ status, json })

  // shows: F-7.10, P-12.1, P-12.18, D-6.17, D-6.18
  test.each(PAM_ERROR_NAMES)('%s is found in each of the five fields, alone or in a sentence', (name) => {
    for (const field of ['error', 'code', 'name', 'message', 'nottype']) {
      expect(nameOf(418, { [field]: name })).toBe(name)
      expect(nameOf(418, { [field]: `Request failed: ${name}.` })).toBe(name)
    }
  })

  test('is not found inside a longer word', () => {
    for (const text of ['xquota_exceeded', 'quota_exceeded_x', 'quota_exceeded2', '_quota_exceeded'])
      expect(nameOf(400, { error: text })).toBe('invalid_request')
  })

  test('is taken from the first field that has one, in the order error, code, name, message, nottype', () => {
    const names = {
      nottype: 'forbidden_error',
      message: 'disabled_team',
      name: 'quota_exceeded',
      code: 'unknown_error',
    }
    expect(nameOf(403, { ...names, error: 'Forbidden' })).toBe('unknown_error')
    expect(nameOf(403, { ...names, error: 'forbidden_error' })).toBe('forbidden_error')
  })

  test.each<[unknown]>([
    [undefined],
    [null],
    ['quota_exceeded'],
    [7],
    [{}],
    [{ error: 7, code: null, name: ['quota_exceeded'], message: {} }],
    [{ detail: 'quota_exceeded' }],
    [{ error: { name: 'quota_exceeded' } }],
    [['quota_exceeded']],
    [{ nottype: 'error', code: 403, message: 'You may not do this.' }],
    [{ nottype: null, code: '403' }],
    [Object.create({ error: 'quota_exceeded' })],
  ])('is derived from the status if the body names none: %j', (json) => {
    expect(nameOf(403, json)).toBe('forbidden_error')
  })

  // shows: D-6.18
  test.each([
    [400, 'invalid_request'],
    [401, 'authentication_error'],
    [403, 'forbidden_error'],
    [404, 'resource_does_not_exist'],
    [409, 'resource_already_exists'],
    [415, 'unsupported_content_type'],
    [418, 'invalid_request'],
    [429, 'too_many_requests'],
    [499, 'client_closed_connection'],
    [500, 'unknown_error'],
    [502, 'unknown_error'],
    [503, 'service_offline'],
    [504, 'gateway_timeout'],
  ])('for the status %d is %s', (status, name) => {
    expect(nameOf(status)).toBe(name)
  })
})

describe('the outcome of a response', () => {
  const outcomeOf = (status: number, subject: PamSubject, json?: unknown) =>
    failureFromAnswer({ status, json, headers: {}, bytes: Buffer.alloc(0) }, subject)

  test.each([200, 201, 204, 299])('the status %d is a success', (status) => {
    expect(outcomeOf(status, 'team')).toBeUndefined()
  })

  test.each([199, 300, 302, 399])('the status %d is unreadable', (status) => {
    expect(outcomeOf(status, 'team')).toMatchObject({
      outcome: 'unreadable',
      message: 'unreadable: redirect',
      status: undefined,
    })
  })

  test.each<[PamSubject, PamOutcome]>([
    ['token', 'unknown_team'],
    ['team', 'unknown_team'],
    ['user', 'unknown_user'],
    ['later_page', 'page_gone'],
  ])('resource_does_not_exist for the subject %s is %s', (subject, outcome) => {
    expect(outcomeOf(404, subject)).toMatchObject({
      outcome,
      status: 404,
      policy: PAM_ERROR_POLICIES[outcome],
    })
  })

  test('any 401 of the token-issuing operation means that the key was refused', () => {
    const json = { error: 'authorization_error' }
    expect(outcomeOf(401, 'token', json)?.outcome).toBe('authentication_error')
    expect(outcomeOf(403, 'token', json)?.outcome).toBe('authorization_error')
    expect(outcomeOf(401, 'user', json)?.outcome).toBe('authorization_error')
  })

  test.each<[UpstreamFailure, PamOutcome, string]>([
    [new UpstreamFailure('response_too_large'), 'unreadable', 'unreadable: too large'],
    [new UpstreamFailure('breaker_open', { retryAfterMs: 700 }), 'held_back', 'held_back'],
    [new UpstreamFailure('pool_exhausted', { retryAfterMs: 700 }), 'held_back', 'held_back'],
    [new UpstreamFailure('timeout', { retryAfterMs: 700 }), 'no_answer', 'no_answer'],
    [new UpstreamFailure('connection_lost'), 'no_answer', 'no_answer'],
    [new UpstreamFailure('unreachable'), 'no_answer', 'no_answer'],
  ])('without a response: %s', (failure, outcome, message) => {
    expect(failureFromUpstream(failure)).toMatchObject({
      name: 'PamFailure',
      outcome,
      message,
      cause: failure,
      retryAfterMs: outcome === 'held_back' ? 700 : undefined,
    })
  })
})

describe('the response to the SPA', () => {
  const retryAfter = (outcome: PamOutcome, retryAfterMs?: number) =>
    new PamFailure(outcome, { retryAfterMs }).toBrokerError().headers['Retry-After']

  test('Retry-After is PAM’s value in whole seconds, at least 1, and only for errors that have the header', () => {
    expect(retryAfter('too_many_requests', 12_001)).toBe('13')
    expect(retryAfter('too_many_requests', 12_000)).toBe('12')
    expect(retryAfter('too_many_requests', 0)).toBe('1')
    expect(retryAfter('no_answer', 12_000)).toBeUndefined()
  })
})
