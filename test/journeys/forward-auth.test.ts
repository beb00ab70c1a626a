import { Agent } from 'node:https'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { FORWARD_AUTH_OPERATIONS } from '../../src/session/forward-auth.ts'
import { AMELIA, WALTER } from '../support/harness.ts'
import { type Arrived, type Portal, startPortal, ZOE } from '../support/portal.ts'
import { PORTAL } from '../support/proxies.ts'
import { startMonitor } from '../support/redis-monitor.ts'
import { until } from '../support/until.ts'

const { headers: IDENTITY_HEADERS } = FORWARD_AUTH_OPERATIONS.forwardAuth.responses[200]

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
  test('is redirected to the sign-in page, and nothing reaches the application', async () => {
    const before = portal.arrived.length
    for (const headers of [
      ['Sec-Fetch-Mode', 'navigate'],
      ['Accept', 'text/html,*/*;q=0.8'],
    ]) {
      const answer = await portal.open(undefined, { headers })
      expect([answer.status, answer.headers.location, answer.headers['cache-control']]).toEqual([
        302,
        `${PORTAL}/?signed-out`,
        'no-store',
      ])
    }
    const page = await portal.proxy.ask({ path: '/?signed-out' })
    expect([page.status, page.text]).toEqual([200, 'the sign-in page'])
    expect(portal.arrived.length).toBe(before)
  })

  test('gets the 401 itself on a fetch', async () => {
    for (const headers of [['Sec-Fetch-Mode', 'cors', 'Accept', 'text/html'], []]) {
      const answer = await portal.open(undefined, { method: 'POST', headers, body: '{}' })
      expect([answer.status, answer.headers.location, JSON.parse(answer.text)]).toEqual([
        401,
        undefined,
        expect.objectContaining({ errorCode: 'E0000005' }),
      ])
    }
  })

  test('is not admitted because of forged identity headers', async () => {
    const before = portal.arrived.length
    const forged = IDENTITY_HEADERS.flatMap((name) => [name, '00u1person'])
    expect((await portal.open(undefined, { headers: forged })).status).toBe(401)
    expect((await portal.open('__Host-gatehouse=s%3Aforged.x', { headers: forged })).status).toBe(401)
    expect(portal.arrived.length).toBe(before)
  })

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

  test.each<[string, (name: string) => string[]]>([
    ['as they are', (name) => [name]],
    ['twice', (name) => [name, name]],
    ['in small letters', (name) => [name.toLowerCase()]],
    ['in capitals', (name) => [name.toUpperCase()]],
    ['with underscores', (name) => [name.replaceAll('-', '_')]],
    ['with one underscore', (name) => [name.replace('-', '_')]],
    ['with the last hyphen an underscore', (name) => [name.replace(/-(?=[^-]*$)/, '_')]],
    ['in every spelling at once', (name) => [name, name.toLowerCase(), name.replaceAll('-', '_')]],
  ])('cannot forge X-Auth-Request-* %s', async (_name, spell) => {
    const cookie = await portal.signIn(AMELIA)
    const session = await sessionOf(cookie)
    const forged = IDENTITY_HEADERS.flatMap(spell).flatMap((name) => [name, 'another-user'])
    expect((await portal.open(cookie, { headers: forged })).status).toBe(200)
    expect(identityIn(lastArrived()).toSorted()).toEqual([
      ['x-auth-request-preferred-username', encodeURIComponent(AMELIA)],
      ['x-auth-request-session', session.id],
      ['x-auth-request-user', session.userId],
    ])
  })

  test('sends the application its own cookies, but not the cookies of the broker', async () => {
    const cookie = await portal.signIn(AMELIA)
    const [one = '', other = ''] = cookie.split('; ')
    expect([one, other].map((text) => text.split('=')[0]).sort()).toEqual([
      '__Host-gatehouse',
      '__Host-gatehouse-device',
    ])
    const own = ['theme=gatehouse', 'my-gatehouse=1', 'a="b c"', 'gatehouse-devices=2', 'x=%3D;y=z']
    for (const [sent, arrives] of [
      [[one, other], undefined],
      [[other, one], undefined],
      [[one, other, ...own], own],
      [[...own, other, one], own],
      [
        ['first=1', one, ...own, other, 'last=2'],
        ['first=1', ...own, 'last=2'],
      ],
      [
        ['first=1', other, one, 'last=2'],
        ['first=1', 'last=2'],
      ],
    ] as const) {
      expect((await portal.open(sent.join('; '))).status).toBe(200)
      expect([sent, valuesOf(lastArrived(), 'cookie')]).toEqual([
        sent,
        arrives === undefined ? [] : [arrives.join('; ')],
      ])
    }
    // no browser sends these: the proxy then passes no cookie at all
    for (const sent of [
      `${one}; ${cookie}; mine=1`,
      `${cookie}; ${other}; mine=1`,
      `${cookie}; gatehouse=x; gatehouse=y`,
    ]) {
      await portal.open(sent)
      expect(valuesOf(lastArrived(), 'cookie').join()).not.toMatch(/gatehouse/)
    }
    await portal.open(cookie, { headers: ['Cookie', 'mine=1', 'Cookie', cookie] })
    expect(valuesOf(lastArrived(), 'cookie').join()).not.toMatch(/gatehouse/)
  })

  test('gets the application’s own 401 unchanged', async () => {
    const cookie = await portal.signIn(AMELIA)
    const answer = await portal.open(cookie, {
      path: '/app/own-refusal',
      headers: ['Sec-Fetch-Mode', 'navigate'],
    })
    expect([answer.status, answer.text]).toEqual([401, 'the application'])
  })

  test('in a tab with an outdated session id gets 409, and nothing reaches the application', async () => {
    const cookie = await portal.signIn(AMELIA)
    const { id } = await sessionOf(cookie)
    const headers = (value: string) => ({ headers: ['X-Gatehouse-Session', value] })
    expect((await portal.open(cookie, headers(id))).status).toBe(200)
    const before = portal.arrived.length
    expect((await portal.open(cookie, headers('outdated-id'))).status).toBe(409)
    expect(portal.arrived.length).toBe(before)
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

  test('a session that has ended is refused at the next request', async () => {
    const cookie = await portal.signIn(AMELIA)
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    try {
      expect((await portal.open(cookie, { agent })).status).toBe(200)
      const out = await portal.proxy.ask({
        method: 'DELETE',
        path: '/api/v1/sessions/me',
        headers: ['Cookie', cookie, 'Origin', PORTAL],
      })
      expect(out.status).toBe(204)
      expect((await portal.open(cookie, { agent })).status).toBe(401)
    } finally {
      agent.destroy()
    }
  })

  test('each request costs one Redis command', async () => {
    const cookie = await portal.signIn(AMELIA)
    const client = portal.harness.redis.client()
    const monitor = await startMonitor(client)
    const seen: string[] = []
    monitor.on('monitor', (_time: string, [command = '', argument = '']: string[]) => {
      seen.push(`${command.toLowerCase()} ${argument}`)
    })
    try {
      for (let request = 1; request <= 3; request++) await portal.open(cookie)
      await portal.open(undefined) // no cookie, no Redis command
      await client.echo('that-was-all')
      await until(() => seen.includes('echo that-was-all'))
      const commands = seen.filter((line) => line.includes('gatehouse:'))
      expect(commands).toHaveLength(3)
      for (const command of commands) expect(command).toMatch(/^get gatehouse:sess:/)
    } finally {
      monitor.disconnect()
    }
  })
})

describe('the client’s address', () => {
  const CLIENT = '127.0.0.77'
  const FORGED = ['X-Forwarded-For', '198.51.100.1, 127.0.0.1', 'X-Forwarded-For', '198.51.100.2']
  const MORE = [
    'X-Real-IP',
    '198.51.100.3',
    'Forwarded',
    'for=198.51.100.4',
    'True-Client-IP',
    '198.51.100.5',
  ]

  test('is the real one in the broker’s log, at the org and at the application, whatever the client sends', async () => {
    portal.harness.clearUpstreamCalls()
    const cookie = await portal.signIn(AMELIA, CLIENT)
    const [call] = portal.harness.upstreamCalls()
    expect(call?.headers['x-forwarded-for']).toBe(CLIENT)

    const answer = await portal.open(cookie, { from: CLIENT, headers: [...FORGED, ...MORE] })
    expect(answer.status).toBe(200)
    expect(valuesOf(lastArrived(), 'x-forwarded-for')).toEqual([CLIENT])
    expect(valuesOf(lastArrived(), 'forwarded')).toEqual([])
    const [requestId] = valuesOf(lastArrived(), 'x-request-id')
    const line = await until(() =>
      portal.harness.gatehouse.logLines().find((one) => one.requestId === requestId),
    )
    expect(line).toMatchObject({ event: 'request', route: '/forward-auth', status: 200, address: CLIENT })
    expect(portal.harness.gatehouse.logText()).not.toContain('198.51.100.')
  })
})

describe('an unavailable session check', () => {
  test('without Redis is 503, never "signed out"; when Redis is back, users are still signed in', async () => {
    const other = await startPortal({
      redis: { persist: true },
      tunables: (tunables) => ({ ...tunables, store: { connectTimeoutMs: 3000, commandTimeoutMs: 3000 } }),
    })
    try {
      const cookie = await other.signIn(AMELIA)
      expect((await other.open(cookie)).status).toBe(200)
      const before = other.arrived.length
      await other.harness.redis.kill()
      for (const mode of ['navigate', 'cors']) {
        const answer = await other.open(cookie, { headers: ['Sec-Fetch-Mode', mode] })
        expect([answer.status, answer.headers['retry-after'], answer.headers.location]).toEqual([
          503,
          '2',
          undefined,
        ])
      }
      expect(other.arrived.length).toBe(before)
      await other.harness.redis.restart()
      await until(async () => (await other.open(cookie)).status === 200)
      expect(other.arrived.length).toBe(before + 1)
    } finally {
      await other.stop()
    }
  })

  test('without the broker is 503 too', async () => {
    const other = await startPortal()
    try {
      const cookie = await other.signIn(AMELIA)
      await other.harness.gatehouse.stop()
      const answer = await other.open(cookie, { headers: ['Sec-Fetch-Mode', 'navigate'] })
      expect([answer.status, answer.headers['retry-after']]).toEqual([503, '2'])
    } finally {
      await other.stop()
    }
  })
})

test('nginx logs no warning during all these tests', () => {
  expect(portal.proxy.log()).not.toMatch(/\[(warn|crit|emerg)\]/)
})
