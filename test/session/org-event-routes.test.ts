import { afterEach, describe, expect, test } from '@jest/globals'
import type { RequestHandler } from 'express'
import { createSigner } from '../../src/crypto/keys.ts'
import { storeUnavailable } from '../../src/errors.ts'
import { createMetrics } from '../../src/observability/metrics.ts'
import type { ApplyOrgEvents } from '../../src/session/apply-org-events.ts'
import { createOrgEventRoutes } from '../../src/session/org-event-routes.ts'
import type { OrgEvent } from '../../src/session/org-events.ts'
import { createMemoryStore } from '../../src/store/memory-store.ts'
import { keeper, serve } from '../http/serve.ts'
import { collectLog } from '../observability/collect-log.ts'
import { delivery, orgEvent, userTarget } from '../support/org-event.ts'

const { keep, closeAll } = keeper()
afterEach(closeAll)

const PATH = '/hooks/org-events'
const SECRET = 'plainly-fake-hook-secret'
const NEW_SECRET = 'plainly-fake-new-hook-secret'
const USER = '00uPlainlyFakeUser'
/** What docs/connect-your-okta-org.md subscribes to. */
const ENDING =
  'lifecycle.deactivate lifecycle.suspend lifecycle.delete.initiated session.clear account.update_password ' +
  'account.reset_password mfa.factor.reset_all authentication.universal_logout'

async function hook({
  secrets = [SECRET, NEW_SECRET],
  apply = async () => () => {},
  trusted = ['127.0.0.1/32'],
}: {
  secrets?: readonly string[] | null
  apply?: ApplyOrgEvents
  trusted?: readonly string[]
} = {}) {
  const applied: OrgEvent[] = []
  const collected = collectLog()
  const metrics = createMetrics({ processMetrics: false })
  const routes = createOrgEventRoutes({
    secrets: secrets ?? undefined,
    applyEvents(events, from) {
      applied.push(...events)
      return apply(events, from)
    },
    store: keep(createMemoryStore()),
    addressNames: createSigner([Buffer.alloc(32, 1)], 'test'),
    log: collected.log,
    metrics,
    now: Date.now,
  })
  const order: string[] = []
  const noteAnswer: RequestHandler = (_req, res, next) => {
    const { end } = res
    res.end = (...args: unknown[]) => {
      order.push('answered')
      return Reflect.apply(end, res, args)
    }
    next()
  }
  const served = keep(await serve({ before: [noteAnswer], routes, collected, metrics, trusted }))
  const headers = (authorization: string | undefined, address = '192.0.2.7') => ({
    'x-forwarded-for': address,
    ...(authorization === undefined ? {} : { authorization }),
  })
  const post = (body: unknown, authorization: string | undefined = SECRET, address?: string) =>
    served.ask({
      method: 'POST',
      path: PATH,
      headers: { ...headers(authorization, address), 'content-type': 'application/json' },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  const verify = (challenge: string | undefined, authorization: string | undefined = SECRET) =>
    served.ask({
      path: PATH,
      headers: {
        ...headers(authorization),
        ...(challenge === undefined ? {} : { 'x-okta-verification-challenge': challenge }),
      },
    })
  return { ...served, order, applied, post, verify }
}

const codeOf = ({ status, json }: { status: number; json: unknown }) => [status, Object(json).errorCode]

test('without a secret, there is no event hook', async () => {
  const { post, verify, lines } = await hook({ secrets: null })
  for (const authorization of ['', 'undefined', SECRET]) {
    expect(codeOf(await post(delivery(), authorization))).toEqual([404, 'E0000007'])
    expect(codeOf(await verify('x', authorization))).toEqual([404, 'E0000007'])
  }
  expect(lines().filter(({ audit }) => audit)).toEqual([])
})

describe('the verification', () => {
  test.each([SECRET, NEW_SECRET])('with %s, the challenge is returned', async (secret) => {
    const { verify } = await hook()
    const answer = await verify('Challenge-1_x', secret)
    expect([answer.status, answer.json]).toEqual([200, { verification: 'Challenge-1_x' }])
  })

  test.each([undefined, '', 'with space', 'x'.repeat(1001)])(
    'the challenge %j is refused',
    async (challenge) => {
      const { verify } = await hook()
      expect(codeOf(await verify(challenge))).toEqual([400, 'E0000001'])
    },
  )
})

describe('a wrong secret', () => {
  test.each([
    undefined,
    '',
    `${SECRET}x`,
    SECRET.slice(0, -1),
    SECRET.toUpperCase(),
    `Bearer ${SECRET}`,
    `${SECRET},${NEW_SECRET}`,
  ])('%j: 401, audited, and the body is not read', async (authorization) => {
    const { post, verify, applied, lines } = await hook()
    for (const answer of [
      await post(delivery(orgEvent(USER)), authorization ?? ''),
      await post('not JSON', authorization ?? ''),
      await verify('x', authorization ?? ''),
    ])
      expect(codeOf(answer)).toEqual([401, 'E0000011'])
    expect(applied).toEqual([])
    const audited = lines().filter(({ event }) => event === 'event_hook_refused')
    expect(audited).toHaveLength(3)
    expect(audited[0]).toMatchObject({
      audit: true,
      address: '192.0.2.7',
      status: 401,
      errorCode: 'E0000011',
    })
  })

  test('after twenty from one address: 429, not audited; the right secret and other addresses are not affected', async () => {
    const { post, applied, lines } = await hook()
    const wrong = (address: string) => post(delivery(), 'wrong', address)
    for (let n = 0; n < 20; n++) expect((await wrong('192.0.2.7')).status).toBe(401)
    const refused = await wrong('192.0.2.7')
    expect(codeOf(refused)).toEqual([429, 'E0000047'])
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    expect(lines().filter(({ event }) => event === 'event_hook_refused')).toHaveLength(20)
    expect((await wrong('192.0.2.8')).status).toBe(401)
    expect((await post(delivery(orgEvent(USER)))).status).toBe(204)
    expect(applied).toHaveLength(1)
  })
})

describe('a delivery', () => {
  test.each([
    ['not JSON', '{', 'E0000003'],
    ['an array', '[]', 'E0000003'],
    ['no events', '{}', 'E0000001'],
    ['events that are no list', '{"data":{"events":{}}}', 'E0000001'],
  ])('%s: 400', async (_what, body, errorCode) => {
    const { post, applied } = await hook()
    expect(codeOf(await post(body))).toEqual([400, errorCode])
    expect(applied).toEqual([])
  })

  test('is refused if it is larger than 1 MB, and read if it has a thousand events', async () => {
    const { post, applied } = await hook()
    expect(codeOf(await post({ data: { events: [], filler: 'x'.repeat(1_048_577) } }))).toEqual([
      413,
      'E0000001',
    ])
    const thousand = Array.from({ length: 1000 }, (_, n) => orgEvent(`00u${n}`))
    expect((await post(delivery(...thousand))).status).toBe(204)
    expect(applied).toHaveLength(1000)
  })

  test('is answered with an empty 204 once the times are recorded, before anything is cleared away', async () => {
    const { post, order } = await hook({
      async apply() {
        order.push('recorded')
        return () => order.push('cleared')
      },
    })
    const { status, text, headers } = await post(delivery(orgEvent(USER)))
    expect([status, text, headers['content-type']]).toEqual([204, '', undefined])
    expect(order).toEqual(['recorded', 'answered', 'cleared'])
  })

  test('is answered with 503 if the times cannot be recorded, so that Okta repeats it', async () => {
    const { post } = await hook({
      async apply() {
        throw storeUnavailable()
      },
    })
    expect(codeOf(await post(delivery(orgEvent(USER))))).toEqual([503, 'E0000009'])
  })

  test('events that cannot be read, are unknown or have no user are ignored and counted; the others take effect', async () => {
    const { post, applied, metrics } = await hook()
    const good = orgEvent(USER)
    const ignored = [
      null,
      'text',
      {},
      { ...good, uuid: 'a b' },
      { ...good, uuid: undefined },
      { ...good, published: 'yesterday' },
      { ...good, target: null },
      { ...good, target: [] },
      { ...good, target: [{ ...userTarget(USER), type: 'AppUser' }] },
      { ...good, target: [userTarget('../..')] },
      { ...good, target: [userTarget('x'.repeat(101))] },
      orgEvent(USER, { eventType: 'user.account.lock' }),
      orgEvent(USER, { eventType: '__proto__' }),
    ]
    expect((await post(delivery(...ignored, good))).status).toBe(204)
    expect(applied.map(({ id, userId }) => [id, userId])).toEqual([[good.uuid, USER]])
    expect(await metrics.registry.getSingleMetricAsString('gatehouse_org_events_total')).toMatch(
      new RegExp(`result="ignored"} ${ignored.length}$`, 'm'),
    )
  })

  test('ends sessions, or has groups fetched again, by its type', async () => {
    const { post, applied } = await hook()
    const effects = new Map([
      ...ENDING.split(' ').map((type) => [`user.${type}`, 'end_sessions'] as const),
      ...['add', 'remove'].map((type) => [`group.user_membership.${type}`, 'refetch_groups'] as const),
    ])
    await post(delivery(...[...effects.keys()].map((eventType) => orgEvent(USER, { eventType }))))
    expect(new Map(applied.map(({ type, effect }) => [type, effect]))).toEqual(effects)
  })

  test('a user who was blocked loses sessions that began up to a minute later, because clocks differ', async () => {
    const { post, applied } = await hook()
    const at = Date.now() - 120_000
    const published = new Date(at).toISOString()
    await post(
      delivery(orgEvent(USER, { published, eventType: 'user.session.clear' }), orgEvent(USER, { published })),
    )
    expect(applied.map(({ publishedMs }) => publishedMs - at)).toEqual([0, 60_000])
  })

  test('an event takes effect for each of its users, oldest event first', async () => {
    const { post, applied } = await hook()
    const later = orgEvent(USER, { published: '2026-11-05T06:00:01.000Z' })
    const earlier = orgEvent(USER, {
      published: '2026-11-05T08:00:00.999+02:00',
      target: [userTarget('00uOne', 'one@example.test'), userTarget('00uTwo')],
    })
    await post(delivery(later, earlier))
    expect(applied.map(({ id, userId, login }) => [id, userId, login])).toEqual([
      [earlier.uuid, '00uOne', 'one@example.test'],
      [earlier.uuid, '00uTwo', '00uTwo@example.test'],
      [later.uuid, USER, `${USER}@example.test`],
    ])
  })
})
