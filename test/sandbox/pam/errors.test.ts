import { beforeEach, expect, test } from '@jest/globals'
import { ERROR_SHAPES, PAM_ERROR_NAMES, PAM_ERRORS } from '../../../src/sandbox/pam/pam-errors.ts'
import { KEY, TEAM, usePamServer } from './pam-server.ts'

const server = usePamServer()
let token: string
beforeEach(async () => {
  token = await server.mint()
})

const groups = () => server.send('GET', `${TEAM}/groups`, { token })

test.each(PAM_ERROR_NAMES)('%s has every shape of body', async (error) => {
  const { status, message } = PAM_ERRORS[error]
  const bodies: Record<(typeof ERROR_SHAPES)[number], unknown> = {
    error: { code: status, error, error_cause: [] },
    message: { message: `${error}: ${message}`, errors: [] },
    name: { name: error, message, errors: [] },
    code: { code: error, message },
    'unnamed-error': { code: status, error: message, error_cause: [] },
    'unnamed-message': { message, errors: [] },
    html: {},
    empty: {},
  }
  for (const shape of ERROR_SHAPES) {
    server.control.failNext({ error, shape })
    const answer = await groups()
    expect([shape, answer.status, answer.body]).toEqual([shape, status, bodies[shape]])
    if (shape === 'html') {
      expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8')
      expect(answer.text).toContain('<!DOCTYPE html>')
    }
    if (shape === 'empty') expect([answer.text, answer.headers.has('content-type')]).toEqual(['', false])
    if (/unnamed|html|empty/.test(shape)) expect(answer.text).not.toContain(error)
  }
})

test('setErrorShape applies to all errors, which name the wrong fields', async () => {
  server.control.setErrorShape('message')
  const answer = await server.send('POST', `${TEAM}/service_token`, { body: { key_id: 'a' } })
  expect(answer.body).toEqual({
    message: expect.stringMatching(/^invalid_request: /),
    errors: [{ path: 'key_secret', message: 'must be a non-empty string' }],
  })
})

test('every response has rate limit headers: success, refusal, unknown path, fault, failure', async () => {
  server.faults.add({ kind: 'html', path: `${TEAM}/users` })
  server.control.failNext({ error: 'unknown_error', shape: 'empty', path: `${TEAM}/service_token` })
  const answers = [
    await groups(),
    await server.send('GET', `${TEAM}/groups`),
    await server.send('GET', '/nowhere', { token }),
    await server.send('GET', '/%ff', { token }),
    await server.send('GET', `${TEAM}/users/a/groups`, { token }),
    await server.send('POST', `${TEAM}/service_token`, { body: 'x'.repeat(300_000) }),
    await server.send('POST', `${TEAM}/service_token`, { body: KEY }),
  ]
  expect(answers.map(({ status }) => status)).toEqual([200, 401, 404, 404, 500, 400, 500])
  for (const { headers } of answers)
    for (const name of ['limit', 'remaining', 'reset', 'retry-at'])
      expect(headers.get(`x-ratelimit-${name}`)).toMatch(/^\d+$/)
})

test('the rate limit is replenished in parts, for each service user', async () => {
  server.control.setRateLimit({ limit: 4, periodSeconds: 60, parts: 2 })
  const statuses = async (times: number) => {
    const found: number[] = []
    for (let at = 0; at < times; at += 1) found.push((await groups()).status)
    return found
  }
  expect(await statuses(5)).toEqual([200, 200, 200, 200, 429])
  expect((await server.send('GET', `${TEAM}/groups`)).status).toBe(401)
  server.advance(29_999)
  expect(await statuses(1)).toEqual([429])
  server.advance(1)
  expect(await statuses(3)).toEqual([200, 200, 429])
  server.advance(60_000)
  const answer = await groups()
  expect([answer.status, answer.headers.get('x-ratelimit-remaining')]).toEqual([200, '3'])
})
