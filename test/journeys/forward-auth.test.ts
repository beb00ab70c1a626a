import { Agent } from 'node:https'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { AMELIA, WALTER } from '../support/harness.ts'
import { type Arrived, type Portal, startPortal, ZOE } from '../support/portal.ts'

/** An application behind a real nginx with deploy/proxies/nginx.conf, which asks the broker for each request's user. */

let portal: Portal
beforeAll(async () => {
  portal = await startPortal()
})
afterAll(() => portal.stop())

/** The last request that reached the application. */
function lastArrived(): Arrived {
  const last = portal.arrived.at(-1)
  if (last === undefined) throw new Error('nothing reached the application')
  return last
}

/** The identity headers of a request. */
const identityIn = ({ headers }: Arrived) => headers.filter(([name]) => name.startsWith('x-auth'))
const valuesOf = ({ headers }: Arrived, wanted: string) =>
  headers.flatMap(([name, value]) => (name === wanted ? [value] : []))

async function sessionOf(cookie: string) {
  const answer = await portal.proxy.ask({ path: '/api/v1/sessions/me', headers: ['Cookie', cookie] })
  return JSON.parse(answer.text) as { id: string; userId: string; login: string }
}

describe('a signed-out user', () => {
  test('cannot call /forward-auth from outside', async () => {
    expect((await portal.proxy.ask({ path: '/forward-auth' })).status).toBe(404)
    expect((await portal.proxy.ask({ path: '/forward-auth', headers: ['X-Original-URI', '/'] })).status).toBe(
      404,
    )
  })
})

describe('a signed-in user', () => {
  test('reaches the application, which gets the identity headers and the body; the broker does not get the body', async () => {
    const cookie = await portal.signIn(AMELIA)
    const session = await sessionOf(cookie)
    const body = 'x'.repeat(10_000)
    const answer = await portal.open(cookie, { method: 'PUT', body })
    expect([answer.status, answer.text]).toEqual([200, 'the application'])
    expect(identityIn(lastArrived()).toSorted()).toEqual([
      ['x-auth-request-preferred-username', encodeURIComponent(AMELIA)],
      ['x-auth-request-session', session.id],
      ['x-auth-request-user', session.userId],
    ])
    expect([lastArrived().method, lastArrived().body.length]).toEqual(['PUT', body.length])
  })

  test('is named correctly if the login has characters that no header can carry', async () => {
    const cookie = await portal.signIn(ZOE)
    expect((await portal.open(cookie)).status).toBe(200)
    const [login = ''] = valuesOf(lastArrived(), 'x-auth-request-preferred-username')
    expect(decodeURIComponent(login)).toBe(ZOE)
    expect(login).toMatch(/^[\x21-\x7e]+$/)
  })

  test('gets the application’s own 401 unchanged', async () => {
    const cookie = await portal.signIn(AMELIA)
    const answer = await portal.open(cookie, {
      path: '/app/own-refusal',
      headers: ['Sec-Fetch-Mode', 'navigate'],
    })
    expect([answer.status, answer.text]).toEqual([401, 'the application'])
  })
})

describe('each response applies to one request', () => {
  test('two users on one connection are never confused', async () => {
    const [one, two] = [await portal.signIn(AMELIA), await portal.signIn(WALTER)]
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    try {
      for (let turn = 0; turn < 3; turn++) {
        for (const cookie of [one, two]) {
          await portal.open(cookie, { agent })
          const { userId } = await sessionOf(cookie)
          expect(valuesOf(lastArrived(), 'x-auth-request-user')).toEqual([userId])
        }
        expect((await portal.open(undefined, { agent })).status).toBe(401)
      }
    } finally {
      agent.destroy()
    }
  })
})

describe('an unavailable session check', () => {})
