import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { OktaAuth } from '@okta/okta-auth-js/authn'
import { type Browser, openBrowser } from '../support/browser.ts'
import { type House, OLGA, PASSWORD, PRIYA, startHouse, TOMAS, WALTER } from '../support/house.ts'
import { until } from '../support/until.ts'

/** The vendor's browser library, unchanged: `issuer` is the broker, and its requests go through a cookie jar. */

let house: House
beforeAll(async () => {
  house = await startHouse()
})
afterAll(() => house.stop())
beforeEach(() => house.sandbox.reset())

function library(): { client: OktaAuth; browser: Browser } {
  const browser = openBrowser(house.gatehouse.url)
  const client = new OktaAuth({
    issuer: house.gatehouse.url,
    pollDelay: 10,
    httpRequestClient: async (method, url, { headers, data }) => {
      const raw = typeof data === 'string' ? data : JSON.stringify(data)
      const options = { headers: { ...(headers as Record<string, string>) } }
      const answer =
        method === 'GET'
          ? await browser.get(url, options)
          : method === 'DELETE'
            ? await browser.delete(url, options)
            : await browser.post(url, undefined, { ...options, ...(raw === undefined ? {} : { raw }) })
      const response = {
        status: answer.status,
        responseText: answer.text,
        responseType: 'json',
        responseJSON: answer.json,
        headers: Object.fromEntries(answer.headers),
      }
      if (answer.status >= 400) throw response
      return response
    },
  })
  return { client, browser }
}

const credentials = (username: string) => ({ username, password: PASSWORD })
type Step = (args?: object) => Promise<Transaction>
interface Transaction {
  readonly status: string
  readonly factorResult?: string
  readonly data?: { readonly stateToken?: string }
  readonly factors?: readonly { readonly factorType: string; readonly verify: Step }[]
  readonly changePassword?: Step
  readonly skip?: Step
  readonly cancel?: Step
  readonly poll?: Step
}

async function signIn(client: OktaAuth, username: string, options = {}): Promise<Transaction> {
  return asTransaction(await client.signInWithCredentials({ ...credentials(username), ...options }))
}

/** The library types its answers loosely: one function a link, by the link's name. */
function asTransaction(answer: unknown): Transaction {
  return answer as Transaction
}

function step(given: Step | undefined, name: string): Step {
  if (given === undefined) throw new Error(`the library offers no ${name}`)
  return given
}

function factor(transaction: Transaction, factorType: string): Step {
  const found = transaction.factors?.find((one) => one.factorType === factorType)
  return step(found?.verify, `factor ${factorType}`)
}

test('signs in with password and a code, wrong code first', async () => {
  const { client, browser } = library()
  await browser.get('/api/v1/sessions/me')
  const asked = await signIn(client, TOMAS)
  expect(asked.status).toBe('MFA_REQUIRED')
  await expect(factor(asked, 'token:software:totp')({ passCode: '000000' })).rejects.toMatchObject({
    errorCode: 'E0000068',
  })
  const done = await factor(
    asked,
    'token:software:totp',
  )({
    passCode: house.sandbox.totpCode(TOMAS),
    rememberDevice: true,
  })
  expect(done.status).toBe('SUCCESS')
  expect((await browser.get('/api/v1/sessions/me')).json.login).toBe(TOMAS)
})

test('polls a push until somebody approves it', async () => {
  const { client, browser } = library()
  await browser.get('/api/v1/sessions/me')
  const asked = await signIn(client, PRIYA)
  const waiting = await factor(asked, 'push')({})
  expect(waiting.factorResult).toBe('WAITING')
  const done = step(waiting.poll, 'poll')({ delay: 10 })
  await until(() => house.upstreamCalls().filter(({ path }) => path.endsWith('/verify')).length > 2)
  house.sandbox.answerPush(PRIYA, 'approve')
  expect((await done).status).toBe('SUCCESS')
  expect((await browser.get('/api/v1/sessions/me')).json.login).toBe(PRIYA)
})

test('changes an expired password', async () => {
  const { client, browser } = library()
  await browser.get('/api/v1/sessions/me')
  const expired = await signIn(client, OLGA)
  expect(expired.status).toBe('PASSWORD_EXPIRED')
  const done = await step(
    expired.changePassword,
    'changePassword',
  )({
    oldPassword: PASSWORD,
    newPassword: 'Another-Password-2',
  })
  expect(done.status).toBe('SUCCESS')
})

test('skips the warning of an expiring password', async () => {
  const { client, browser } = library()
  await browser.get('/api/v1/sessions/me')
  const warned = await signIn(client, WALTER, { options: { warnBeforePasswordExpired: true } })
  expect(warned.status).toBe('PASSWORD_WARN')
  expect((await step(warned.skip, 'skip')()).status).toBe('SUCCESS')
})

test('cancels', async () => {
  const { client, browser } = library()
  await browser.get('/api/v1/sessions/me')
  const asked = await signIn(client, TOMAS)
  await step(asked.cancel, 'cancel')()
  const gone = await browser.post('/api/v1/authn', { stateToken: asked.data?.stateToken })
  expect(gone.json.errorCode).toBe('E0000011')
})

test('introspects with the handle that it holds', async () => {
  const { client, browser } = library()
  await browser.get('/api/v1/sessions/me')
  const asked = await signIn(client, TOMAS)
  const stateToken = asked.data?.stateToken ?? ''
  const now = asTransaction(await client.tx.introspect({ stateToken }))
  expect(now.status).toBe('MFA_REQUIRED')
  expect(now.data?.stateToken).toBe(stateToken)
})
