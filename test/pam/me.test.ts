import { expect, test } from '@jest/globals'
import { counted } from './counted.ts'
import { LOGIN } from './pam-broker.ts'
import { usePamHarness } from './pam-harness.ts'

const EVERYONE = 'f25eceb0-5d6b-5683-89f0-57e62155a668'

const harness = usePamHarness(({ pam }) => {
  pam.control.putGroup({ id: EVERYONE, name: 'Everyone', roles: ['future_admin'] })
  pam.control.setUserGroups(LOGIN, ['Platform Admins', 'Toolchain, Early Access', 'Everyone'])
})

test('without a session, the response is 401 and no request is sent to PAM', async () => {
  const answer = await harness.broker.get('/api/v1/pam/me', { login: '' })
  expect(answer.status).toBe(401)
  expect(answer.body.errorCode).toBe('E0000005')
  expect(harness.pam.requestLog.entries).toEqual([])
})

// shows: F-7.4, F-7.9, P-2.5, P-2.6, P-2.8, P-2.9, P-3.2, P-4.1, P-4.2, P-4.3, P-8.4, P-10.8, D-3.4
// shows: D-5.2, D-5.5, V8.2.3
// sandbox shows: F-7.4, F-7.9, P-2.5, P-8.4, P-10.8
test('the response contains the user, the groups, and the roles: all, maximal and unknown', async () => {
  const { status, body, headers } = await harness.broker.get('/api/v1/pam/me')
  expect(status).toBe(200)
  expect(body).toEqual({
    user: LOGIN,
    groups: [
      {
        id: '78c18450-aead-52b9-a6a7-9ad7c7d07b56',
        name: 'Toolchain, Early Access',
        roles: ['devops_admin'],
      },
      { id: 'b97e354d-adb0-579d-8fda-81beebb9ae8f', name: 'Platform Admins', roles: ['resource_admin'] },
      { id: EVERYONE, name: 'Everyone', roles: ['future_admin'] },
    ],
    roles: ['resource_admin', 'end_user', 'devops_admin'],
    maximalRoles: ['resource_admin', 'devops_admin'],
    unknownRoles: ['future_admin'],
    meta: { fetchedAt: '2026-11-02T08:00:00.000Z', stale: false },
  })
  expect(headers.get('cache-control')).toBe('private, no-cache')
  expect(headers.get('age')).toBe('0')
  expect(headers.get('etag')).toMatch(/^W\/"[\w-]{27}"$/)
})

// shows: D-3.4
test('a matching If-None-Match gets 304; an unchanged list keeps its ETag when it is read again', async () => {
  const first = await harness.broker.get('/api/v1/pam/me')
  const etag = String(first.headers.get('etag'))
  const again = await harness.broker.get('/api/v1/pam/me', { headers: { 'If-None-Match': etag } })
  expect([again.status, again.text]).toEqual([304, ''])

  harness.advance(400_000)
  const reread = await harness.broker.get('/api/v1/pam/me')
  expect(reread.headers.get('etag')).toBe(etag)
  expect(reread.body.meta).toEqual({ fetchedAt: '2026-11-02T08:06:40.000Z', stale: false })
  expect(await counted(harness.broker.metrics, 'pam_cache_requests_total')).toEqual({
    'me miss': 2,
    'me fresh': 1,
  })
})
