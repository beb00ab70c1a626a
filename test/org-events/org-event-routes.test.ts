import { afterEach, describe, expect, test } from '@jest/globals'
import type { RequestHandler } from 'express'
import { createCallLimits } from '../../src/bearer-auth/call-limits.ts'
import { createSigner } from '../../src/crypto/keys.ts'
import { storeUnavailable } from '../../src/errors.ts'
import { createMetrics, type Metrics } from '../../src/observability/metrics.ts'
import type { ApplyOrgEvents } from '../../src/org-events/apply-org-events.ts'
import { createOrgEventRoutes, EVENT_HOOK_LIMITS } from '../../src/org-events/org-event-routes.ts'
import type { OrgEvent } from '../../src/org-events/org-events.ts'
import { createMemoryStore } from '../../src/store/memory-store.ts'
import { serve } from '../http/serve.ts'
import { collectLog } from '../observability/collect-log.ts'
import { keeper } from '../support/keeper.ts'
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
  const metrics = createMetrics()
  const routes = createOrgEventRoutes({
    secrets: secrets ?? undefined,
    applyEvents(events, from) {
      applied.push(...events)
      return apply(events, from)
    },
    limits: createCallLimits({
      limits: EVENT_HOOK_LIMITS,
      store: keep(createMemoryStore()),
      nameSigner: createSigner([Buffer.alloc(32, 1)], 'test'),
      metrics,
      now: Date.now,
    }),
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
  const post = (
    body: unknown,
    authorization: string | undefined = SECRET,
    address?: string,
    type = 'application/json',
  ) =>
    served.ask({
      method: 'POST',
      path: PATH,
      headers: { ...headers(authorization, address), 'content-type': type },
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
  return { ...served, metrics, order, applied, post, verify }
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

test('a delivery may name its charset utf8', async () => {
  const { post, applied } = await hook()
  const type = 'application/json; charset=utf8'
  const { status } = await post(delivery(orgEvent(USER)), SECRET, undefined, type)
  expect(status).toBe(204)
  expect(applied).toHaveLength(1)
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
    const { post, applied, lines, metrics } = await hook()
    const wrong = (address: string) => post(delivery(), 'wrong', address)
    for (let n = 0; n < 20; n++) expect((await wrong('192.0.2.7')).status).toBe(401)
    const refused = await wrong('192.0.2.7')
    expect(codeOf(refused)).toEqual([429, 'E0000047'])
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    expect(lines().filter(({ event }) => event === 'event_hook_refused')).toHaveLength(20)
    expect(await metrics.registry.metrics()).toContain(
      'gatehouse_limit_hits_total{limit="event_hook_address"} 1',
    )
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

  const countOf = async (metrics: Metrics, result: string) => {
    const text = await metrics.registry.getSingleMetricAsString('gatehouse_org_events_total')
    return Number(new RegExp(`result="${result}"} (\\d+)$`, 'm').exec(text)?.[1] ?? 0)
  }
  const warnings = (lines: readonly Record<string, unknown>[]) =>
    lines.filter(({ event }) => event === 'org_event_unreadable')

  test('unknown and failed events are ignored and counted; the others take effect', async () => {
    const { post, applied, metrics, lines } = await hook()
    const good = orgEvent(USER)
    const ignored = [
      null,
      'text',
      [],
      {},
      orgEvent(USER, { eventType: 'user.account.lock' }),
      orgEvent(USER, { eventType: '__proto__' }),
      { ...good, eventType: ['user.lifecycle.suspend'] },
      orgEvent(USER, { outcome: { result: 'FAILURE', reason: null } }),
    ]
    expect((await post(delivery(...ignored, good))).status).toBe(204)
    expect(applied.map(({ id, userId }) => [id, userId])).toEqual([[good.uuid, USER]])
    expect([await countOf(metrics, 'ignored'), await countOf(metrics, 'unreadable')]).toEqual([
      ignored.length,
      0,
    ])
    expect(warnings(lines())).toEqual([])
  })

  const GROUP = { id: '00gPlainlyFake', type: 'UserGroup', alternateId: 'unknown' }
  const MEMBERSHIP = 'group.user_membership.add'
  test.each<[what: string, changed: object, reason: string, users: readonly string[]]>([
    ['no uuid', { uuid: undefined }, 'uuid', [USER]],
    ['a uuid of another form', { uuid: 'a b' }, 'uuid', [USER]],
    ['a uuid that is no text', { uuid: 7 }, 'uuid', [USER]],
    ['no time', { published: undefined }, 'published', [USER]],
    ['a time that is none', { published: 'yesterday' }, 'published', [USER]],
    ['a month that does not exist', { published: '2026-13-05T06:00:00Z' }, 'published', [USER]],
    ['a time without a zone', { published: '2026-11-05T06:00:00' }, 'published', [USER]],
    ['the zero time', { published: '0001-01-01T00:00:00Z' }, 'published', [USER]],
    ['a time that is a number', { published: 1_793_858_400_000 }, 'published', [USER]],
    ['no targets', { target: null }, 'target', []],
    ['an empty list of targets', { target: [] }, 'target', []],
    ['targets that are no list', { target: userTarget(USER) }, 'target', []],
    ['a target of another type only', { target: [{ ...userTarget(USER), type: 'AppUser' }] }, 'target', []],
    ['a target that is null', { target: [null, userTarget(USER)] }, 'target', [USER]],
    ['a target that is a text', { target: [USER, userTarget(USER)] }, 'target', [USER]],
    ['a target without a type', { target: [{ id: '00uTwo' }, userTarget(USER)] }, 'target', [USER]],
    ['a user without an id', { target: [{ type: 'User' }, userTarget(USER)] }, 'target', [USER]],
    ['a user whose id is null', { target: [{ type: 'User', id: null }, userTarget(USER)] }, 'target', [USER]],
    ['a user whose id is no text', { target: [{ type: 'User', id: 7 }, userTarget(USER)] }, 'target', [USER]],
    ['an id of another form', { target: [userTarget('../..'), userTarget(USER)] }, 'target', [USER]],
    ['an id that is too long', { target: [userTarget('x'.repeat(101)), userTarget(USER)] }, 'target', [USER]],
    [
      'a member whose login is an object',
      { eventType: MEMBERSHIP, target: [{ ...userTarget(USER), alternateId: { login: 'ada' } }, GROUP] },
      'login',
      [USER],
    ],
    [
      'nothing but the type and a user',
      { uuid: null, published: null, outcome: 7, target: [{ type: 'User', id: USER }, 7] },
      'uuid published target',
      [USER],
    ],
  ])(
    'a known event with %s warns, and what can be read takes effect',
    async (_what, changed, reason, users) => {
      const { post, applied, metrics, lines } = await hook()
      const event = { ...orgEvent('00uReplaced'), target: [userTarget(USER)], ...changed }
      const good = orgEvent('00uOther')
      const before = Date.now()
      expect((await post(delivery(event, good))).status).toBe(204)
      const hit = applied.filter(({ userId }) => userId !== '00uOther')
      expect(hit.map(({ userId }) => userId)).toEqual(users)
      expect(applied.map(({ userId }) => userId)).toContain('00uOther')
      if (reason.includes('uuid')) expect(hit.map(({ id }) => id)).toEqual([undefined])
      if (reason.includes('published'))
        for (const { publishedMs } of hit) expect(publishedMs).toBeGreaterThanOrEqual(before)
      expect(warnings(lines())).toEqual([
        expect.objectContaining({
          level: 'warn',
          requestId: expect.any(String),
          operation: event.eventType,
          reason,
          count: 1,
        }),
      ])
      expect([await countOf(metrics, 'ignored'), await countOf(metrics, 'unreadable')]).toEqual([0, 1])
    },
  )

  test('a login that is an object does not matter to an event that ends sessions, nor do other targets', async () => {
    const { post, applied, lines } = await hook()
    const target = [{ ...userTarget(USER), alternateId: {} }, { type: 'AppUser', id: null }, GROUP]
    await post(delivery(orgEvent(USER, { target })))
    expect(applied.map(({ userId, login }) => [userId, login])).toEqual([[USER, '']])
    expect(warnings(lines())).toEqual([])
  })

  test('many unreadable events are one line a minute for each type, but each is counted', async () => {
    const { post, metrics, lines } = await hook()
    const unreadable = Array.from({ length: 50 }, () => orgEvent(USER, { target: [] }))
    const other = orgEvent(USER, { target: [], eventType: 'user.session.clear' })
    await post(delivery(...unreadable, other))
    await post(delivery(...unreadable))
    expect(warnings(lines()).map(({ operation }) => operation)).toEqual([
      'user.lifecycle.suspend',
      'user.session.clear',
    ])
    expect(await countOf(metrics, 'unreadable')).toBe(101)
  })

  test.each([
    ['Z', '2026-11-05T06:00:00.120Z'],
    ['+0000', '2026-11-05T06:00:00.120+0000'],
    ['+00:00', '2026-11-05T06:00:00.120+00:00'],
    ['+00', '2026-11-05T06:00:00.120+00'],
    ['-0830', '2026-11-04T21:30:00.120-0830'],
    ['nanoseconds', '2026-11-05T06:00:00.120999999Z'],
  ])('the time may be written with %s', async (_what, published) => {
    const { post, applied, lines } = await hook()
    await post(delivery(orgEvent(USER, { published, eventType: 'user.session.clear' })))
    expect(applied.map(({ publishedMs }) => publishedMs)).toEqual([Date.UTC(2026, 10, 5, 6, 0, 0, 120)])
    expect(warnings(lines())).toEqual([])
  })

  test('a target that is named twice is one user', async () => {
    const { post, applied } = await hook()
    await post(delivery(orgEvent(USER, { target: [userTarget(USER), userTarget(USER)] })))
    expect(applied).toHaveLength(1)
  })

  describe('user.account.reset_password', () => {
    const eventType = 'user.account.reset_password'
    const ADMIN = { id: '00uPlainlyFakeAdmin', type: 'User', alternateId: 'admin@example.test' }
    test.each<[who: string, actor: unknown, users: readonly string[]]>([
      ['an administrator', ADMIN, [USER, '00uTwo']],
      ['an application', { id: '0oaPlainlyFake', type: 'PublicClientApp' }, [USER, '00uTwo']],
      ['Okta', { id: '00uOkta', type: 'SystemPrincipal', alternateId: 'system@okta.com' }, []],
      ['one of the users', { id: USER, type: 'User' }, ['00uTwo']],
      ['nobody', undefined, [USER, '00uTwo']],
      ['an actor that cannot be read', 'SystemPrincipal', [USER, '00uTwo']],
    ])('by %s: ends sessions, unless it is Okta or the user', async (_who, actor, users) => {
      const { post, applied, metrics, lines } = await hook()
      const target = [userTarget(USER), userTarget('00uTwo')]
      await post(delivery({ ...orgEvent(USER, { eventType, target }), actor }))
      expect(applied.map(({ userId }) => userId)).toEqual(users)
      expect(await countOf(metrics, 'ignored')).toBe(users.length === 0 ? 1 : 0)
      expect(warnings(lines())).toEqual([])
    })

    test('any other event by Okta or the user ends the sessions', async () => {
      const { post, applied } = await hook()
      const types = ENDING.split(' ').map((type) => `user.${type}`)
      const byUser = types.filter((type) => type !== eventType)
      const system = { id: 'unknown', type: 'SystemPrincipal' }
      for (const actor of [system, { id: USER, type: 'User' }])
        await post(delivery(...byUser.map((type) => ({ ...orgEvent(USER, { eventType: type }), actor }))))
      expect(applied.map(({ type }) => type).toSorted()).toEqual([...byUser, ...byUser].toSorted())
    })
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
