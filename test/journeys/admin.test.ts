import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type BrokerDirectory, type BrokerProcess, makeBrokerDirectory } from '../support/broker-process.ts'
import { AMELIA, type Harness, PASSWORD, startHarness, WALTER } from '../support/harness.ts'
import { replaceFile } from '../support/replace-file.ts'
import { until } from '../support/until.ts'

/** Admin calls at the operations listener of one broker process; users sign in at another replica. */

const OLD_TOKEN = 'plainly-fake-ops-token-1'
const NEW_TOKEN = 'plainly-fake-ops-token-2'

let harness: Harness
let home: BrokerDirectory
let folder: string
let broker: BrokerProcess
beforeAll(async () => {
  harness = await startHarness({ redis: { persist: true } })
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-ops-token-'))
  await writeFile(join(folder, 'token'), OLD_TOKEN)
  home = await makeBrokerDirectory((shipped) => ({ ...shipped, secrets: { checkFilesEveryMs: 20 } }))
  broker = await home.start({
    ...harness.signInEnv,
    OPS_TOKEN_FILE: join(folder, 'token'),
  })
})
afterAll(async () => {
  await home.remove()
  await harness.stop()
  await rm(folder, { recursive: true })
})

async function openSession(login: string) {
  const browser = await harness.visit()
  await browser.post('/api/v1/authn', { username: login, password: PASSWORD })
  const { userId } = (await browser.get('/api/v1/sessions/me')).json
  return { userId: String(userId), statusOf: async () => (await browser.get('/api/v1/sessions/me')).status }
}

async function admin(token: string, method: string, userId: string) {
  const answer = await fetch(`${broker.opsUrl}/admin/users/${userId}/sessions`, {
    method,
    headers: { authorization: `Bearer ${token}` },
  })
  return { status: answer.status, headers: answer.headers, json: (await answer.json()) as object }
}

test('the sessions of one user are listed and ended on every replica; other users keep theirs', async () => {
  const [one, two, other] = [await openSession(AMELIA), await openSession(AMELIA), await openSession(WALTER)]
  const { userId } = one
  expect((await admin(OLD_TOKEN, 'GET', userId)).json).toEqual({
    sessions: [expect.objectContaining({ amr: ['pwd'] }), expect.objectContaining({ amr: ['pwd'] })],
  })
  expect(await admin(OLD_TOKEN, 'DELETE', userId)).toMatchObject({ status: 200, json: { ended: 2 } })
  expect([await one.statusOf(), await two.statusOf(), await other.statusOf()]).toEqual([404, 404, 200])
  expect((await admin(OLD_TOKEN, 'GET', userId)).json).toEqual({ sessions: [] })
})

test('a changed OPS_TOKEN_FILE applies without a restart, and the old token is refused', async () => {
  const { userId } = await openSession(AMELIA)
  expect((await admin(NEW_TOKEN, 'GET', userId)).status).toBe(401)
  await replaceFile(join(folder, 'token'), NEW_TOKEN)
  await until(async () => (await admin(NEW_TOKEN, 'GET', userId)).status === 200)
  expect((await admin(OLD_TOKEN, 'DELETE', userId)).status).toBe(401)
  await replaceFile(join(folder, 'token'), OLD_TOKEN)
  await until(async () => (await admin(OLD_TOKEN, 'GET', userId)).status === 200)
})

test('without Redis the call is 503 and the session survives; when Redis is back, the call ends it', async () => {
  const { userId, statusOf } = await openSession(AMELIA)
  await harness.redis.kill()
  const refused = await admin(OLD_TOKEN, 'DELETE', userId)
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2'])
  expect(refused.json).toMatchObject({
    errorCode: 'E0000009',
    errorId: refused.headers.get('x-request-id'),
  })
  await harness.redis.restart()
  await until(async () => (await statusOf()) === 200)
  await until(async () => (await admin(OLD_TOKEN, 'DELETE', userId)).status === 200)
  expect(await statusOf()).toBe(404)
})
