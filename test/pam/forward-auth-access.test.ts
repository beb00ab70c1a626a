import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { createForwardAuthRoutes } from '../../src/forward-auth/forward-auth.ts'
import { createIdentityTokens } from '../../src/forward-auth/identity-token.ts'
import { serve } from '../http/serve.ts'
import { collectLog } from '../observability/collect-log.ts'
import { createTestSession, LOGIN } from './pam-broker.ts'
import { type PamHarness, startPamHarness } from './pam-harness.ts'

/**
 * A rule of `/forward-auth` and the same rule of PAM_DIRECTORY, with the same data of PAM, or
 * without it.
 */

let harness: PamHarness
let proxied: Awaited<ReturnType<typeof serve>>
let login = LOGIN
beforeEach(async () => {
  login = LOGIN
  harness = await startPamHarness({ directory: { kind: 'rules', roles: ['resource_admin'], groups: [] } })
  harness.pam.control.setUserGroups(LOGIN, ['Platform Admins'])
  const routes = createForwardAuthRoutes({
    sessions: { require: async () => createTestSession(login), isKeyProved: () => false },
    identityTokens: createIdentityTokens({ masterKeys: [Buffer.alloc(32)], issuer: '', now: Date.now }),
    jwtAudiences: [],
    readAccess: harness.broker.readAccess,
    knownValues: { amr: [], role: [] },
    log: collectLog().log,
    now: Date.now,
  })
  proxied = await serve({ routes })
})
afterEach(async () => {
  await proxied.close()
  await harness.close()
})

function rename(other: string) {
  login = other
}
/** The statuses of PAM_DIRECTORY, of the rule and of a header with groups. */
async function decisions() {
  const listed = await harness.broker.get('/api/v1/pam/groups', { login })
  const asked = ['role=resource_admin', 'headers=groups'].map((query) =>
    proxied.ask({ path: `/forward-auth?${query}` }),
  )
  return [listed.status, ...(await Promise.all(asked)).map(({ status }) => status)]
}
const ofUsers = '/v1/teams/example-team/users'
const fail = (status: number) => harness.pam.faults.set({ kind: 'status', status, path: ofUsers })
/** A list of this age, which PAM cannot renew. */
async function afterSeconds(seconds: number) {
  expect(await decisions()).toEqual([200, 200, 200])
  harness.advance(seconds * 1000)
  fail(500)
}

test.each<[what: string, happens: () => unknown, rule: number, header: number]>([
  ['PAM has the role', () => {}, 200, 200],
  ['PAM no longer has the role', () => harness.pam.control.setUserGroups(LOGIN, []), 403, 200],
  ['PAM does not know the user', () => rename('nobody@example.com'), 403, 200],
  ['PAM fails, without a list', () => fail(500), 503, 503],
  ['PAM does not permit the look-up', () => fail(403), 503, 503],
  ['PAM fails, with a list of 59 seconds', () => afterSeconds(59), 200, 200],
  ['PAM fails, with a list of 61 seconds', () => afterSeconds(61), 503, 503],
])('%s: the rule decides as PAM_DIRECTORY does, and nothing is 401', async (_what, happens, rule, header) => {
  await happens()
  expect(await decisions()).toEqual([rule, rule, header])
})

test('with a fresh list, PAM is not asked again', async () => {
  expect(await decisions()).toEqual([200, 200, 200])
  const count = harness.pam.requestLog.entries.length
  harness.advance(59_000)
  expect(await decisions()).toEqual([200, 200, 200])
  expect(harness.pam.requestLog.entries).toHaveLength(count)
})
