import { expect, test } from '@jest/globals'
import { KEY, LOGIN, OTHER_KEY } from './pam-broker.ts'
import { usePamHarness } from './pam-harness.ts'

const TEAM = '/v1/teams/example-team'
const harness = usePamHarness(({ pam }) => pam.control.setUserGroups(LOGIN, ['Platform Admins']))

const calls = () => harness.pam.requestLog.entries
const askedForTokens = () => calls().filter(({ path }) => path === `${TEAM}/service_token`)

// shows: F-7.1, P-6.1, P-6.2, P-8.1, P-8.2, P-8.4, P-10.3
test('a key is exchanged for a token: exactly key_id and key_secret as JSON, without Authorization', async () => {
  expect((await harness.broker.get('/api/v1/pam/me')).status).toBe(200)
  const [call] = calls()
  expect(call).toMatchObject({ method: 'POST', path: `${TEAM}/service_token` })
  expect({ ...call?.query }).toEqual({})
  expect(call?.body).toEqual({ key_id: KEY.id, key_secret: KEY.secret })
  expect(call?.headers).toMatchObject({ accept: 'application/json', 'content-type': 'application/json' })
  expect(call?.headers.authorization).toBeUndefined()
})

// shows: F-7.5, P-9.1, P-9.2, P-9.4, P-10.1, P-13.2, P-13.4, P-15.1, D-2.1
test.each([
  ['/api/v1/pam/me', `${TEAM}/users/${encodeURIComponent(LOGIN)}/groups`],
  ['/api/v1/pam/groups', `${TEAM}/groups`],
])(
  '%s: the first page is requested with the token, without parameters and without a body',
  async (ours, path) => {
    expect((await harness.broker.get(ours)).status).toBe(200)
    const call = calls().at(-1)
    expect(call).toMatchObject({ method: 'GET', path })
    expect({ ...call?.query }).toEqual({})
    expect(call?.headers).toMatchObject({
      accept: 'application/json',
      authorization: `Bearer ${harness.pam.control.bearerTokens()[0]}`,
    })
    for (const name of ['content-length', 'transfer-encoding', 'content-type'])
      expect([name, call?.headers[name]]).toEqual([name, undefined])
  },
)

// shows: P-2.3, P-9.1, P-9.2
test('every path contains PAM_TEAM as one segment', async () => {
  const team = 'Other Team/1'
  harness.pam.control.setReportedTeam(team)
  const paths = async (tokenPath: string) => {
    const before = calls().length
    const broker = await harness.replica({ team, tokenPath })
    for (const ours of ['me', 'groups']) await broker.get(`/api/v1/pam/${ours}`)
    return new Set(
      calls()
        .slice(before)
        .map(({ path }) => path),
    )
  }
  const ofTeam = '/v1/teams/Other%20Team%2F1'
  const issuing = `${TEAM}/service_token`
  expect(await paths('/v1/teams/{team_name}/service_token')).toEqual(new Set([`${ofTeam}/service_token`]))
  harness.advance(10_000) // a token is minted once in 10 s
  expect(await paths(issuing)).toEqual(
    new Set([issuing, `${ofTeam}/users/${encodeURIComponent(LOGIN)}/groups`, `${ofTeam}/groups`]),
  )
})

// shows: F-7.3, P-6.3
test('when a key expires, its tokens are refused, and a replica that starts with another key uses that', async () => {
  expect((await harness.broker.get('/api/v1/pam/me')).status).toBe(200)
  harness.pam.control.expireKey(KEY.id, new Date(harness.pam.now() + 1000).toISOString())
  harness.advance(901_000)
  expect((await harness.broker.get('/api/v1/pam/me')).status).toBe(502)
  harness.advance(10_000) // a token is minted once in 10 s
  const restarted = await harness.replica({ key: OTHER_KEY })
  expect((await restarted.get('/api/v1/pam/me')).status).toBe(200)
  expect(askedForTokens().map(({ body }) => Reflect.get(Object(body), 'key_id'))).toEqual([
    KEY.id,
    KEY.id,
    OTHER_KEY.id,
  ])
  // the key once, and the token at each of the two replicas
  expect(harness.pam.control.counts().errors).toEqual({ authentication_error: 3 })
})

// shows: F-7.15
test('a token that is not issued in time is an error, and no list is requested', async () => {
  const broker = await harness.replica({ totalTimeoutMs: 200 })
  harness.pam.faults.set({ kind: 'drip', everyMs: 150, path: `${TEAM}/service_token` })
  const answer = await broker.get('/api/v1/pam/me')
  expect([answer.status, answer.body.errorCode]).toEqual([504, 'pam_timeout'])
  expect(calls()).toEqual(askedForTokens())
})
