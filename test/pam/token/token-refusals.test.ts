import { expect, test } from '@jest/globals'
import { until } from '../../support/until.ts'
import { LOGIN } from '../pam-broker.ts'
import { usePamHarness } from '../pam-harness.ts'

/** PAM refuses every lookup for this user, with any token. */
const REFUSED = 'refused@example.com'
const OTHER = 'other@example.com'

const harness = usePamHarness(({ pam }) => {
  for (const login of [LOGIN, OTHER, REFUSED]) pam.control.setUserGroups(login, [])
})

const listOf = (login: string) => `/v1/teams/example-team/users/${encodeURIComponent(login)}/groups`
const refuse = () =>
  harness.pam.control.failNext({ error: 'authorization_error', path: listOf(REFUSED), times: 'always' })
const lookUp = async (login: string, broker = harness.broker) => {
  const { status, body } = await broker.get('/api/v1/pam/me', { login })
  return status === 200 ? 200 : `${status} ${body.errorCode}`
}
const minted = () => harness.pam.control.counts().tokensMinted
/** The tokens that were sent for this user, in order. */
const sentFor = (login: string) =>
  harness.pam.requestLog.entries
    .filter(({ path }) => path === listOf(login))
    .map(({ headers }) => headers.authorization)

// shows: D-1.10
test('a lookup that PAM refuses with every token neither stops other users nor mints more than once in 10 s', async () => {
  refuse()
  const other = await harness.replica()
  await lookUp(LOGIN)
  const before = minted()
  for (let elapsedS = 0; elapsedS < 30; elapsedS += 2) {
    for (const broker of [harness.broker, other]) {
      expect(await lookUp(REFUSED, broker)).toBe('502 pam_not_permitted')
      const login = `user-${harness.pam.requestLog.entries.length}@example.com`
      harness.pam.control.setUserGroups(login, [])
      expect(await lookUp(login, broker)).toBe(200)
    }
    harness.advance(2000)
  }
  expect(minted() - before).toBeGreaterThan(1)
  expect(minted() - before).toBeLessThanOrEqual(30 / 10)
})

// shows: D-6.3
test('any other 401 is not repeated; the token is replaced before the next call', async () => {
  expect(await lookUp(LOGIN)).toBe(200)
  const body = { error: 'invalid_request' }
  harness.pam.faults.set({ kind: 'status', status: 401, path: listOf(REFUSED), body, times: 1 })
  expect(await lookUp(REFUSED)).toBe('502 pam_bad_request')
  expect(await lookUp(OTHER)).toBe(200)
  expect(sentFor(OTHER)).not.toEqual(sentFor(REFUSED))
})

// shows: D-1.8
test('a late refusal of an old token does not replace the new one', async () => {
  expect(await lookUp(LOGIN)).toBe(200)
  harness.advance(901_000)
  harness.pam.control.expireTokens()
  const release = harness.pam.faults.hold({ times: 1 })
  const late = lookUp(OTHER)
  await until(() => sentFor(OTHER).length === 1)
  expect(await lookUp(LOGIN)).toBe(200)
  release()
  expect(await late).toBe(200)
  expect(minted()).toBe(2)
})
