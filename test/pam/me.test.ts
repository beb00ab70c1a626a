import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { counted, LOGIN } from './pam-broker.ts'
import { type Journey, startJourney } from './pam-journey.ts'

let journey: Journey
beforeEach(async () => {
  journey = await startJourney()
  journey.pam.control.setUserGroups(LOGIN, ['Platform Admins', 'Toolchain, Early Access', 'Everyone'])
})
afterEach(() => journey.close())

test('without a session, the response is 401 and no request is sent to PAM', async () => {
  const answer = await journey.broker.get('/api/v1/pam/me', { login: '' })
  expect(answer.status).toBe(401)
  expect(answer.body.errorCode).toBe('E0000005')
  expect(journey.pam.requestLog.entries).toEqual([])
})

test('the response has the user, the groups, and all, maximal and unknown roles', async () => {
  const { status, body, headers } = await journey.broker.get('/api/v1/pam/me')
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
      { id: 'f25eceb0-5d6b-5683-89f0-57e62155a668', name: 'Everyone', roles: [] },
    ],
    roles: ['resource_admin', 'end_user'],
    maximalRoles: ['resource_admin'],
    unknownRoles: ['devops_admin'],
    meta: { fetchedAt: '2026-11-02T08:00:00.000Z', stale: false },
  })
  expect(headers.get('cache-control')).toBe('private, no-cache')
  expect(headers.get('age')).toBe('0')
  expect(headers.get('etag')).toMatch(/^W\/"[\w-]{27}"$/)
})

test('federation fields of older deployments are left out of groups', async () => {
  journey.pam.control.setGroupForm({ activeDeletedAt: 'zero', federation: true })
  const { body } = await journey.broker.get('/api/v1/pam/me')
  const groups = body.groups as object[]
  expect(groups.map(Object.keys)).toEqual(groups.map(() => ['id', 'name', 'roles']))
  expect(groups).toHaveLength(3)
})

test('If-None-Match gets 304, and the same list, read again, has the same ETag', async () => {
  const first = await journey.broker.get('/api/v1/pam/me')
  const etag = String(first.headers.get('etag'))
  const again = await journey.broker.get('/api/v1/pam/me', { headers: { 'If-None-Match': etag } })
  expect([again.status, again.text]).toEqual([304, ''])

  journey.advance(400_000)
  const anew = await journey.broker.get('/api/v1/pam/me')
  expect(anew.headers.get('etag')).toBe(etag)
  expect(anew.body.meta).toEqual({ fetchedAt: '2026-11-02T08:06:40.000Z', stale: false })
  expect(await counted(journey.broker.metrics, 'pam_cache_requests_total')).toEqual({
    'me miss': 2,
    'me fresh': 1,
  })
})
