import { afterEach, expect, test } from '@jest/globals'
import { KEY, LOGIN, OTHER_KEY } from '../pam-broker.ts'
import { type PamHarness, type PamHarnessOptions, startPamHarness } from '../pam-harness.ts'

let harness: PamHarness
afterEach(() => harness.close())

async function start(options: PamHarnessOptions = {}) {
  harness = await startPamHarness(options)
  harness.pam.control.setUserGroups(LOGIN, ['Platform Admins'])
}
const ISSUING = '/v1/teams/example-team/service_token'
const asked = () => harness.pam.requestLog.entries.filter(({ path }) => path === ISSUING).length
const lookUp = async (broker = harness.broker) => {
  const { status, body } = await broker.get('/api/v1/pam/me')
  return status === 200 ? 200 : `${status} ${body.errorCode}`
}

/**
 * Refusals by the token-issuing operation: how to begin and end them, and the response to users.
 */
const CASES = [
  {
    name: 'a refused key',
    begin: () => harness.pam.control.removeKey(KEY.id),
    end: () => harness.pam.control.addKey({ keyId: KEY.id, keySecret: KEY.secret, serviceUser: 'gatehouse' }),
    answer: '502 pam_credentials',
  },
  {
    name: 'a response that names another team',
    begin: () => harness.pam.control.setReportedTeam('other-team'),
    end: () => harness.pam.control.setReportedTeam('example-team'),
    answer: '502 pam_misconfigured',
  },
  {
    name: 'forbidden_error',
    begin: () => harness.pam.control.failNext({ error: 'forbidden_error', path: ISSUING, times: 'always' }),
    end: () => harness.pam.control.clearFailures(),
    answer: '502 pam_not_permitted',
  },
]

// shows: F-7.1, P-2.3, P-5.3, P-6.2, P-6.3, P-8.3, D-1.3, D-1.12, D-1.13
test.each(CASES)('$name pauses minting for 60 s, then twice as long, up to 15 min', async (one) => {
  await start()
  const other = await harness.replica()
  one.begin()
  expect(await lookUp()).toBe(one.answer)
  for (const [n, pauseS] of [60, 120, 240, 480, 900, 900, 900].entries()) {
    for (const [broker, afterS] of [
      [other, 1],
      [harness.broker, pauseS / 2],
      [other, pauseS / 2 - 2],
    ] as const) {
      harness.advance(afterS * 1000)
      expect([pauseS, await lookUp(broker), asked()]).toEqual([pauseS, one.answer, n + 1])
    }
    harness.advance(1000)
    expect([pauseS, await lookUp(n % 2 === 0 ? other : harness.broker), asked()]).toEqual([
      pauseS,
      one.answer,
      n + 2,
    ])
  }

  one.end()
  harness.advance(900_000)
  expect([await lookUp(), await lookUp(other)]).toEqual([200, 200])

  one.begin() // the next pause is short again
  harness.pam.control.expireTokens()
  harness.advance(901_000)
  expect(await lookUp()).toBe(one.answer)
  one.end()
  harness.advance(60_000)
  expect(await lookUp(other)).toBe(200)
})

// shows: D-1.11
test.each(CASES)('$name: another key is used at once by a replica that starts with it', async (one) => {
  await start()
  one.begin()
  expect(await lookUp()).toBe(one.answer)
  one.end()
  const other = await harness.replica({ key: OTHER_KEY })
  expect([await lookUp(other), await lookUp()]).toEqual([200, 200]) // one token for all
  expect(asked()).toBe(2)
})

// shows: D-1.10
test.each([
  ['unknown_error', 500, 3],
  ['invalid_request', 400, 1],
])('%s: no other replica tries to mint for 10 s', async (error, status, calls) => {
  await start()
  const other = await harness.replica()
  harness.pam.faults.set({ kind: 'status', status, path: ISSUING, body: { error } })
  const refusal = await lookUp()
  for (const broker of [other, harness.broker]) expect(await lookUp(broker)).toBe(refusal)
  expect(asked()).toBe(calls)
  harness.pam.faults.clear()
  harness.advance(9999)
  expect(await lookUp(other)).toBe(refusal)
  harness.advance(1)
  expect(await lookUp(other)).toBe(200)
})

test.each([
  [
    'too_many_requests',
    () => harness.pam.control.failNext({ error: 'too_many_requests', path: ISSUING, retrySeconds: 5 }),
    5000,
  ],
  ['no answer', () => harness.pam.faults.set({ kind: 'cut', path: ISSUING, times: 1 }), 0],
] as const)('%s: the next attempt does not wait for 10 s', async (_, fail, waitMs) => {
  await start()
  fail()
  expect(await lookUp()).not.toBe(200)
  harness.advance(waitMs)
  expect(await lookUp()).toBe(200)
})

// shows: D-1.10
test('tokens that live for less than 10 s are minted once in 10 s, and used meanwhile', async () => {
  await start({ sandbox: { tokenLifetimeSeconds: 4 } })
  for (let elapsedS = 0; elapsedS < 30; elapsedS++) {
    const login = `user-${elapsedS}@example.com`
    harness.pam.control.setUserGroups(login, [])
    await harness.broker.get('/api/v1/pam/me', { login })
    harness.advance(1000)
  }
  // PAM refuses the expired tokens, and each is replaced once
  expect(asked()).toBeLessThanOrEqual(2 * 3)
  expect(asked()).toBeGreaterThanOrEqual(3)
})

// shows: D-1.3
test.each([
  ['Example-Team', 'example-team'],
  ['example-team', 'EXAMPLE-TEAM'],
])('PAM_TEAM %s and a team_name %s are the same team', async (team, reported) => {
  await start({ team })
  harness.pam.control.setReportedTeam(reported)
  expect(await lookUp()).toBe(200)
  const other = await harness.replica({ team: 'exaMPLE-team' })
  expect(await lookUp(other)).toBe(200)
  expect(harness.pam.control.counts().tokensMinted).toBe(1) // one team, so one token
})
