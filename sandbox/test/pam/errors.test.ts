import { beforeEach, expect, test } from '@jest/globals'
import { TEAM, usePamServer } from 'gatehouse-test-support/pam-server'
import { ERROR_SHAPES, PAM_ERROR_NAMES, PAM_ERRORS } from '../../src/pam/pam-errors.ts'

const server = usePamServer()
let token: string
beforeEach(async () => {
  token = await server.mint()
})

const groups = () => server.send('GET', `${TEAM}/groups`, { token })

// sandbox shows: F-7.10, P-12.1, P-12.18
test.each(PAM_ERROR_NAMES)('%s has every shape of body', async (error) => {
  const { status, message } = PAM_ERRORS[error]
  const bodies: Record<(typeof ERROR_SHAPES)[number], unknown> = {
    error: { code: status, error, error_cause: [] },
    message: { message: `${error}: ${message}`, errors: [] },
    name: { name: error, message, errors: [] },
    code: { code: error, message },
    'unnamed-error': { code: status, error: message, error_cause: [] },
    'unnamed-message': { message, errors: [] },
    nottype: { nottype: 'error', code: status, message },
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
    if (/unnamed|nottype|html|empty/.test(shape)) expect(answer.text).not.toContain(error)
  }
})

// sandbox shows: F-7.10
test('setErrorShape applies to all errors, which name the wrong fields', async () => {
  server.control.setErrorShape('message')
  const answer = await server.send('POST', `${TEAM}/service_token`, { body: { key_id: 'a' } })
  expect(answer.body).toEqual({
    message: expect.stringMatching(/^invalid_request: /),
    errors: [{ path: 'key_secret', message: 'must be a non-empty string' }],
  })
})
