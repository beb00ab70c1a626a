import { describe, expect, test } from '@jest/globals'
import type { Browser } from '../support/browser.ts'
import { AMELIA, PASSWORD, useHarness, WALTER } from '../support/harness.ts'

const OPS_TOKEN = 'plainly-fake-ops-token'

describe.each<[string, Record<string, string>]>([
  ['Redis', {}],
  ['the embedded store', { REDIS_URL: 'memory:' }],
])('on %s', (_store, env) => {
  const harness = useHarness({ env: { OPS_TOKEN, ...env } })

  async function openSession(login: string): Promise<Browser> {
    const browser = await harness.visit()
    await browser.post('/api/v1/authn', { username: login, password: PASSWORD })
    return browser
  }
  const idOf = async (browser: Browser) => (await browser.get('/api/v1/sessions/me')).json.id
  const listOf = async (browser: Browser) =>
    (await browser.get('/api/v1/sessions')).json.sessions as {
      id: string
      current: boolean
      userAgent: string
    }[]

  // shows: V7.5.2, V8.2.2
  test('users list their own sessions, end one, and end all others; another user’s session returns 404', async () => {
    const [one, two, three, other] = [
      await openSession(AMELIA),
      await openSession(AMELIA),
      await openSession(AMELIA),
      await openSession(WALTER),
    ]
    const list = await listOf(one)
    expect(list.map(({ id }) => id).toSorted()).toEqual(
      [await idOf(one), await idOf(two), await idOf(three)].map(String).toSorted(),
    )
    expect(list.filter(({ current }) => current).map(({ id }) => id)).toEqual([await idOf(one)])
    expect(list[0]?.userAgent).toBe('TestBrowser/1.0')

    const otherUsers = await other.delete(`/api/v1/sessions/${await idOf(two)}`)
    expect([otherUsers.status, otherUsers.json.errorCode]).toEqual([404, 'E0000007'])
    expect((await one.delete(`/api/v1/sessions/${await idOf(two)}`)).status).toBe(204)
    expect((await two.get('/api/v1/sessions/me')).status).toBe(404)
    expect(await listOf(one)).toHaveLength(2)

    expect((await one.delete('/api/v1/sessions')).status).toBe(204)
    expect((await three.get('/api/v1/sessions/me')).status).toBe(404)
    expect(await listOf(one)).toHaveLength(1)
    expect((await other.get('/api/v1/sessions/me')).status).toBe(200)
  })

  test('an operator ends the sessions of all users, and is told how many', async () => {
    const endAll = async () => {
      const headers = { authorization: `Bearer ${OPS_TOKEN}` }
      const answer = await fetch(`${harness.gatehouse.opsUrl}/admin/sessions`, { method: 'DELETE', headers })
      return [answer.status, await answer.json()]
    }
    await endAll() // those of the other test
    const browsers = [await openSession(AMELIA), await openSession(WALTER)]
    expect(await endAll()).toEqual([200, { ended: 2 }])
    for (const browser of browsers) expect((await browser.get('/api/v1/sessions/me')).status).toBe(404)
    expect(await endAll()).toEqual([200, { ended: 0 }])
  })
})
