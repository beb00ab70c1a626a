import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createGatehouse } from 'gatehouse-client'
import { CookieJar } from 'tough-cookie'
import { type Harness, PASSWORD, startHarness } from '../support/harness.ts'

const SANA = 'sana.sms@example.test'

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness.stop())

test('a user signs in with a code by text message, has a session, and signs out', async () => {
  const gatehouse = createGatehouse({ baseUrl: harness.gatehouse.url, cookieJar: new CookieJar() })
  expect(await gatehouse.session()).toBeUndefined()

  const required = await gatehouse.signIn({ username: SANA, password: PASSWORD })
  const [factor] = required.status === 'MFA_REQUIRED' ? required.factors : []
  if (required.status !== 'MFA_REQUIRED' || factor === undefined) throw new Error(required.status)
  const challenge = await required.verify(factor)
  if (challenge.status !== 'MFA_CHALLENGE' || challenge.next !== 'verify') throw new Error(challenge.status)

  await expect(challenge.verify({ passCode: '000000' })).rejects.toMatchObject({
    status: 403,
    code: 'E0000068',
  })
  const passCode = harness.sandbox.outbox.latest(SANA, 'factor-code')?.code ?? 'none was sent'
  expect(await challenge.verify({ passCode })).toMatchObject({ status: 'SUCCESS', unlocked: false })
  expect(await gatehouse.session()).toMatchObject({ login: SANA })

  await gatehouse.signOut()
  expect(await gatehouse.session()).toBeUndefined()
})
