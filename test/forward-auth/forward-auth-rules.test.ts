import { createHash, createPublicKey, verify as verifySignature } from 'node:crypto'
import { afterEach, describe, expect, test } from '@jest/globals'
import { createLocalJWKSet, decodeJwt, jwtVerify } from 'jose'
import { storeUnavailable } from '../../src/errors.ts'
import {
  type Access,
  FORWARD_AUTH_RULES,
  type ForwardAuthRules,
} from '../../src/forward-auth/forward-auth-rules.ts'
import { createIdentityTokens } from '../../src/forward-auth/identity-token.ts'
import { selectNamed } from '../../src/forward-auth/named-access.ts'
import { GRANT, START } from '../session/grant.ts'
import { ISSUER, startSessionHarness } from '../session/session-harness.ts'
import { keeper } from '../support/keeper.ts'

const { keep, closeAll } = keeper()
afterEach(closeAll)

const OPS = '0a4c39e9-1a5e-4d3c-9a55-0c3f5f1f7a10'
/** The id of another group. */
const POSING = '5f6a39e9-1a5e-4d3c-9a55-0c3f5f1f7a13'
const ACCESS: Access = {
  groups: [
    { id: OPS, name: 'Ops, Zürich' },
    { id: '7b2d39e9-1a5e-4d3c-9a55-0c3f5f1f7a11', name: 'finance' },
    { id: '9c1e39e9-1a5e-4d3c-9a55-0c3f5f1f7a12', name: POSING },
  ],
  roles: ['end_user', 'resource_admin', 'custom'],
}

/** A user who signed in with `pwd otp mfa` at `START`, two minutes ago. */
async function signedIn(readAccess?: (asked: unknown[]) => Promise<Access | undefined>) {
  const asked: unknown[] = []
  const harness = keep(
    await startSessionHarness({
      readAccess: readAccess && (async ({ userId }) => readAccess([asked.push(userId)])),
    }),
  )
  const { cookieHeader } = await harness.signIn()
  harness.clock.now = START + 120_000
  const ask = (query: string, cookie: string | undefined = cookieHeader) =>
    harness.call('GET', `/forward-auth?${query}`, cookie)
  return { ...harness, ask, asked, cookieHeader }
}

const decision = async (asking: ReturnType<Awaited<ReturnType<typeof signedIn>>['ask']>) => {
  const { status, headers, text } = await asking
  expect(text).toBe('')
  if (status !== 200) expect(headers).not.toHaveProperty('x-auth-request-user')
  return [status, headers['x-auth-request-denied']]
}

describe('a user with three groups, who signed in two minutes ago', () => {
  test.each([
    ['role=resource_admin', 200],
    ['role=pam_admin', 403, 'role'],
    ['role=Resource_admin', 403, 'role'],
    ['group=finance', 200],
    [`group=${OPS}`, 200],
    ['group=Ops%2C+Z%C3%BCrich', 200],
    ['group=Finance', 403, 'group'],
    [`group=${POSING}`, 403, 'group'],
    ['group=finance%2Cx', 403, 'group'],
    ['amr=pwd', 200],
    ['maxAuthAge=120', 200],
    ['maxAuthAge=119', 401, 'age'],
    ['maxAuthAge=0', 401, 'age'],
  ])('%s: %d', async (query, status, ...[denied]) => {
    const { ask } = await signedIn(async () => ACCESS)
    expect(await decision(ask(query))).toEqual([status, denied])
    expect(await decision(ask(query, ''))).toEqual([401, undefined])
  })

  /** Each rule in three forms: absent, met, not met. */
  const FORMS = {
    amr: ['', 'amr=pwd&amr=mfa', 'amr=pwd&amr=hwk'],
    age: ['', 'maxAuthAge=120', 'maxAuthAge=119'],
    role: ['', 'role=x&role=custom', 'role=x'],
    group: ['', 'group=x&group=finance', 'group=x'],
  }
  const REQUESTED = [
    '',
    'headers=groups&showGroups=finance&encoding=utf-8',
    'headers=amr,name',
    'headers=jwt,roles&aud=reports&showRoles=x',
  ]

  const COMBINATIONS = Object.entries(FORMS).reduce<{ query: string[]; unmet: string[] }[]>(
    (before, [name, forms]) =>
      before.flatMap(({ query, unmet }) =>
        forms.map((form, at) => ({ query: [...query, form], unmet: at === 2 ? [...unmet, name] : unmet })),
      ),
    [{ query: [], unmet: [] }],
  )

  test.each(REQUESTED)(
    'with %j, every combination of rules: all must be met, and 401 comes before 403',
    async (headers) => {
      const { ask } = await signedIn(async () => ACCESS)
      expect(COMBINATIONS).toHaveLength(81)
      for (const { query, unmet } of COMBINATIONS) {
        // with headers: those of all four rules or of none
        if (headers !== '' && new Set(query.map((form) => form === '')).size === 2) continue
        const text = [headers, ...query].filter((each) => each !== '').join('&')
        const [status, denied] = await decision(ask(text))
        const helps = unmet.includes('amr') || unmet.includes('age')
        expect([text, status]).toEqual([text, unmet.length === 0 ? 200 : helps ? 401 : 403])
        if (status !== 200) expect([text, unmet]).toEqual([text, expect.arrayContaining([denied])])
        if (status === 401) expect([text, denied]).toEqual([text, expect.stringMatching(/^(amr|age)$/)])
      }
    },
  )

  test.each([
    'role=',
    'group=x&group=',
    'amr=',
    'maxAuthAge=1&maxAuthAge=2',
    'maxAuthAge=-1',
    'maxAuthAge=1.5',
    'maxAuthAge=999999999',
    'headers=groups&headers=roles',
    'headers=Groups',
    'headers=groups,,roles',
    'headers=',
    'headers=jwt',
    'headers=jwt&aud=other',
    'headers=jwt&aud=reports&aud=billing',
    'aud=reports',
    'showGroups=finance',
    'headers=roles&showGroups=finance',
    'headers=groups&showGroups=',
    'headers=groups&showRoles=end_user',
    'encoding=latin1',
    'encoding=utf-8&encoding=percent',
    'Role=end_user',
    'role[]=end_user',
  ])('%s: 400', async (query) => {
    const { ask } = await signedIn(async () => ACCESS)
    expect(await decision(ask(query))).toEqual([400, undefined])
    expect(await decision(ask(query, ''))).toEqual([400, undefined])
  })

  test('a mistyped rule refuses, and is one warning with the names of its parameters and no value', async () => {
    const { ask, lines } = await signedIn(async () => ACCESS)
    const [secret, long] = ['plainly-fake-value', 'x'.repeat(2000)]
    const wrong: [query: string, refusal: readonly unknown[], reason: string][] = [
      [`amrr=${secret}`, [400, undefined], 'amrr: unknown parameter'],
      [
        `groups=${secret}&Role=${secret}`,
        [400, undefined],
        'groups: unknown parameter; Role: unknown parameter',
      ],
      [`maxAuthAge=${secret}`, [400, undefined], 'maxAuthAge: must be a whole number of seconds'],
      [`headers=jwt&aud=${secret}`, [400, undefined], 'aud: must be one of JWT_AUDIENCES'],
      [`amr=pwd&amr=${secret}`, [401, 'amr'], 'amr: no sign-in has this method'],
      [`role=end-user`, [403, 'role'], 'role: is no role that Gatehouse knows'],
      [`${long}=1`, [400, undefined], `${long.slice(0, 100)}: unknown parameter`],
    ]
    for (const [query, refusal] of [...wrong, ...wrong]) expect(await decision(ask(query))).toEqual(refusal)
    for (const query of ['amr=hwk', 'role=resource_admin&role=mistyped', 'amr=pwd', 'role=end_user&group=x'])
      await ask(query)
    const warnings = lines().filter(({ event }) => event === 'forward_auth_rule_mistyped')
    expect(warnings.map(({ level, reason }) => [level, reason])).toEqual(
      wrong.map(([, , reason]) => ['warn', reason]),
    )
    expect(JSON.stringify(lines())).not.toContain(secret)
    const names = Array.from({ length: 50 }, (_, n) => `${'y'.repeat(90)}${n}=1`)
    await ask(names.join('&'))
    for (let n = 0; n < 50; n++) await ask(`x${n}=1`)
    const all = lines().filter(({ event }) => event === 'forward_auth_rule_mistyped')
    expect(all).toHaveLength(20)
    expect(Math.max(...all.map(({ reason }) => String(reason).length))).toBeLessThanOrEqual(300)
  })

  test('headers are sent only if the request asks for them', async () => {
    const { ask } = await signedIn(async () => ACCESS)
    const all = await ask(
      'headers=groups,roles,amr,email,name&group=finance&showGroups=Ops%2C+Z%C3%BCrich&showRoles=end_user&showRoles=custom',
    )
    expect(all.headers).toMatchObject({
      'x-auth-request-groups': 'finance,Ops%2C%20Z%C3%BCrich',
      'x-auth-request-roles': 'end_user,custom',
      'x-auth-request-amr': 'pwd,otp,mfa',
      'x-auth-request-email': 'ada%40example.com',
      'x-auth-request-name': 'Ada',
      'x-auth-request-user': '00u1person',
    })
    const { headers } = await ask('headers=amr&role=end_user')
    const requested = Object.keys(headers).filter((name) => name.startsWith('x-auth-request-'))
    expect(requested.sort()).toEqual(
      ['amr', 'preferred-username', 'session', 'user'].map((name) => `x-auth-request-${name}`),
    )
  })
})

describe('of groups and roles, an application learns those that its rule names and the user has', () => {
  const shown = async (query: string, access = ACCESS) => {
    const { ask, lines } = await signedIn(async () => access)
    const { status, headers } = await ask(`${query}&headers=groups,roles,jwt&aud=reports`)
    const { groups, roles } = decodeJwt(String(headers['x-auth-request-jwt']))
    const listOf = (name: string) => {
      const text = String(headers[`x-auth-request-${name}`])
      return text === '' ? [] : text.split(',').map(decodeURIComponent)
    }
    expect([status, groups, roles]).toEqual([200, listOf('groups'), listOf('roles')])
    const warnings = lines().filter(({ event }) => event === 'forward_auth_names_left_out')
    return { groups, roles, headers, warnings }
  }

  test.each([
    ['group=finance&role=custom', ['finance'], ['custom']],
    ['group=other&group=finance&role=pam_admin&role=end_user', ['finance'], ['end_user']],
    ['showGroups=finance&showGroups=Finance&showGroups=other&role=end_user', ['finance'], ['end_user']],
    ['showGroups=finance&group=Ops%2C+Z%C3%BCrich&showRoles=custom', ['Ops, Zürich', 'finance'], ['custom']],
    ['group=finance&showGroups=finance&role=custom&showRoles=custom', ['finance'], ['custom']],
    // a group's name is up to its owner, so a group that the rule names by its id is shown by it
    [`group=${OPS}&showRoles=pam_admin`, [OPS], []],
    [`showGroups=${OPS}&showGroups=${POSING}&showRoles=pam_admin`, [OPS], []],
  ])('%s', async (query, groups, roles) => {
    expect(await shown(query)).toMatchObject({ groups, roles, warnings: [] })
  })

  test('encoding=utf-8: a comma or line break in a name does not make it two names', async () => {
    const names = ['Ops, Zürich', 'a\r\nX-Auth-Request-User: b', '"quoted" \\ 100%', ' edge ']
    const { ask } = await signedIn(async () => ({
      groups: names.map((name) => ({ id: '', name })),
      roles: names,
    }))
    const shownNames = names.map(encodeURIComponent).map((name) => `showGroups=${name}&showRoles=${name}`)
    const { headers } = await ask(`headers=groups,roles&encoding=utf-8&${shownNames.join('&')}`)
    const list = 'Ops%2C Zürich,a%0D%0AX-Auth-Request-User: b,"quoted" \\ 100%25,%20edge%20'
    for (const name of ['groups', 'roles'])
      expect(Buffer.from(String(headers[`x-auth-request-${name}`]), 'latin1').toString()).toBe(list)
    expect(headers['x-auth-request-user']).toBe('00u1person')
  })

  test('a user of 250 groups is let in, and gets those', async () => {
    const many = Array.from({ length: 250 }, (_, n) => ({
      id: `${n}`,
      name: `Gruppe "Zürich", ${n}\r\nX: y`,
    }))
    const access = { ...ACCESS, groups: [...many, ...ACCESS.groups] }
    expect(await shown('showGroups=finance&role=custom', access)).toMatchObject({ groups: ['finance'] })
  })

  test('a rule that asks for groups or roles and names none is a warning, once', async () => {
    const { ask, lines } = await signedIn(async () => ACCESS)
    const rules = ['role=custom&headers=groups', 'group=finance&headers=roles', 'role=custom&headers=roles']
    for (const rule of [...rules, ...rules]) expect((await ask(rule)).status).toBe(200)
    const warnings = lines().filter(({ event }) => event === 'forward_auth_names_left_out')
    expect(warnings.map(({ level, reason, rule }) => [level, reason, rule])).toEqual(
      rules.slice(0, 2).map((rule) => ['warn', 'none_named', rule]),
    )
  })

  const NAMES = Array.from({ length: 250 }, (_, n) => `Zürich ${n}`)
  const MEMBER_OF_ALL: Access = { groups: NAMES.map((name) => ({ id: name, name })), roles: NAMES }

  test('in at most 4 kB: the last names are left out, and a warning names the rule and not the user', async () => {
    const query = (parameter: string, from: number) =>
      NAMES.slice(from, from + 125).map((name) => `${parameter}=${encodeURIComponent(name)}`)
    const rule = [
      ...query('showGroups', 125),
      ...query('showRoles', 0),
      'role=Z%C3%BCrich+249',
      'group=Z%C3%BCrich+1',
    ]
    const { groups, roles, headers, warnings } = await shown(rule.join('&'), MEMBER_OF_ALL)
    const without = await shown('role=Z%C3%BCrich+0&group=Z%C3%BCrich+0', MEMBER_OF_ALL)
    const bytesOf = (all: typeof headers) =>
      ['groups', 'roles', 'jwt'].reduce((sum, name) => sum + String(all[`x-auth-request-${name}`]).length, 0)
    const bytes = bytesOf(headers) - bytesOf(without.headers)
    expect(bytes).toBeLessThan(4096)
    expect(bytes).toBeGreaterThan(3900)
    expect([groups, roles]).toEqual([
      ['Zürich 1'],
      ['Zürich 249', ...NAMES.slice(0, Array.isArray(roles) ? roles.length - 1 : 0)],
    ])
    expect(warnings).toMatchObject([{ level: 'warn', reason: 'too_large' }])
    expect(warnings[0]?.rule).toBe(rule.join('&').slice(0, 300))
    expect(JSON.stringify(warnings)).not.toMatch(/ada/i)
  })

  test.each<[parameters: Partial<ForwardAuthRules>, shown: number]>([
    [{ role: NAMES.slice(0, 64) }, 64],
    [{ role: NAMES.slice(0, 66) }, 64],
    [{ role: NAMES.slice(0, 20), showGroups: NAMES.slice(0, 66) }, 64],
  ])('a name that fits exactly is shown: %#', (parameters, count) => {
    const rules = { ...FORWARD_AUTH_RULES.parse({ headers: 'groups,roles' }), ...parameters }
    const { named } = selectNamed(rules, MEMBER_OF_ALL, () => 64)
    expect([...(named.roles ?? []), ...(named.groups ?? [])]).toHaveLength(count)
  })
})

describe('groups are read', () => {
  test('only for a rule or a header that needs them, and after the rules that need no look-up', async () => {
    const { ask, asked } = await signedIn(async () => ACCESS)
    for (const query of ['amr=pwd', 'headers=amr,name,email', 'headers=jwt&aud=reports', 'role=x&amr=hwk'])
      await ask(query)
    expect(asked).toEqual([])
    for (const query of ['role=x', 'group=x', 'headers=groups', 'headers=roles']) await ask(query)
    expect(asked).toEqual(Array(4).fill(GRANT.userId))
  })

  test('a user who is unknown there has none', async () => {
    const { ask } = await signedIn(async () => undefined)
    expect(await decision(ask('role=end_user'))).toEqual([403, 'role'])
    expect(await decision(ask('group=finance'))).toEqual([403, 'group'])
    const { status, headers } = await ask('headers=groups,roles')
    expect([status, headers['x-auth-request-groups'], headers['x-auth-request-roles']]).toEqual([200, '', ''])
  })

  test('if they cannot be had: 503, also for headers', async () => {
    const { ask } = await signedIn(async () => {
      throw storeUnavailable()
    })
    for (const query of ['role=end_user', 'group=finance', 'headers=groups'])
      expect(await decision(ask(query))).toEqual([503, undefined])
  })

  test('without PAM: 400', async () => {
    const { ask } = await signedIn()
    expect(await decision(ask('role=end_user'))).toEqual([400, undefined])
    expect(await decision(ask('headers=jwt,groups&aud=reports'))).toEqual([400, undefined])
    expect(await decision(ask('amr=pwd'))).toEqual([200, undefined])
  })
})

/** What 0.2.0 derived from the key of the harness: a restart with a new version changes no key. */
const KEY_OF_0_2_0 = {
  x: 'FYa5CUpVeXoCjWAkZ_lcUtqU7OF_K-AoxxD4Lv_ggFg',
  y: 'gkK5OYIZMEhZatTVZ6HWc-RXHFxCtN9TLmipI1yisSI',
}

describe('headers=jwt', () => {
  const verify = async (
    { call, clock }: Awaited<ReturnType<typeof signedIn>>,
    token: unknown,
    audience: string,
  ) => {
    const { json } = await call('GET', '/.well-known/gatehouse-jwks.json')
    // the response of this path
    const keySet = createLocalJWKSet(json as Parameters<typeof createLocalJWKSet>[0])
    const options = { issuer: ISSUER, audience, currentDate: new Date(clock.now), algorithms: ['ES256'] }
    return jwtVerify(String(token), keySet, options)
  }

  test('an independent library verifies it with the published keys', async () => {
    const harness = await signedIn(async () => ACCESS)
    const { headers } = await harness.ask(
      'headers=jwt,groups,email,name&aud=reports&showGroups=Ops%2C+Z%C3%BCrich',
    )
    const { payload, protectedHeader } = await verify(harness, headers['x-auth-request-jwt'], 'reports')
    expect(protectedHeader).toMatchObject({ alg: 'ES256', typ: 'JWT' })
    const seconds = harness.clock.now / 1000
    expect(payload).toEqual({
      iss: ISSUER,
      aud: 'reports',
      sub: '00u1person',
      sid: headers['x-auth-request-session'],
      amr: GRANT.amr,
      auth_time: START / 1000,
      preferred_username: 'ada@example.com',
      email: 'ada@example.com',
      name: 'Ada',
      groups: ['Ops, Zürich'],
      iat: seconds,
      exp: seconds + 60,
    })
    const plain = await harness.ask('headers=jwt&aud=reports')
    const claims = decodeJwt(String(plain.headers['x-auth-request-jwt']))
    expect(Object.keys(claims)).toEqual('iss aud sub sid preferred_username amr auth_time iat exp'.split(' '))
    await expect(verify(harness, headers['x-auth-request-jwt'], 'billing')).rejects.toThrow(/aud/)
    harness.clock.now += 60_000
    await expect(verify(harness, headers['x-auth-request-jwt'], 'reports')).rejects.toThrow(/exp/)
  })

  test('the key and its id are those of version 0.2.0, and Node verifies the token by RFC 7515 and 7638', async () => {
    const harness = await signedIn()
    const jwk = { kty: 'EC', crv: 'P-256', ...KEY_OF_0_2_0 }
    const members = JSON.stringify({ crv: jwk.crv, kty: jwk.kty, x: jwk.x, y: jwk.y })
    const kid = createHash('sha256').update(members).digest('base64url')
    const { json } = await harness.call('GET', '/.well-known/gatehouse-jwks.json')
    expect(json).toEqual({ keys: [{ ...jwk, kid, alg: 'ES256', use: 'sig' }] })

    const { headers } = await harness.ask('headers=jwt&aud=reports')
    const [header = '', payload = '', signature = ''] = String(headers['x-auth-request-jwt']).split('.')
    expect(Buffer.from(header, 'base64url').toString()).toBe(`{"alg":"ES256","typ":"JWT","kid":"${kid}"}`)
    const key = createPublicKey({ key: jwk, format: 'jwk' })
    const isRight = (text: string) =>
      verifySignature(
        'sha256',
        Buffer.from(text),
        { key, dsaEncoding: 'ieee-p1363' },
        Buffer.from(signature, 'base64url'),
      )
    expect([isRight(`${header}.${payload}`), isRight(`${header}.${payload}x`)]).toEqual([true, false])
  })

  test('it is kept for 30 seconds, for this session, audience and these claims', async () => {
    let access = ACCESS
    const harness = await signedIn(async () => access)
    const tokenOf = async (query: string) => (await harness.ask(query)).headers['x-auth-request-jwt']
    const first = await tokenOf('headers=jwt&aud=reports')
    harness.clock.now += 29_000
    expect(await tokenOf('headers=jwt&aud=reports')).toBe(first)
    const others = [
      'headers=jwt&aud=billing',
      'headers=jwt,roles&aud=reports',
      'headers=jwt,groups&aud=reports&showGroups=finance',
      'headers=jwt,email&aud=reports',
    ]
    const tokens = await Promise.all(others.map(tokenOf))
    access = { ...ACCESS, groups: [] }
    expect(new Set([first, ...tokens, await tokenOf(others[2] ?? '')]).size).toBe(6)
    harness.clock.now += 1000
    const next = await tokenOf('headers=jwt&aud=reports')
    expect(next).not.toBe(first)
    await verify(harness, next, 'reports')
  })

  /** Issues tokens for the session, all at the same time. */
  async function issuerAndSession() {
    const { sessions } = await signedIn()
    const [{ session } = { session: undefined }] = await sessions.list(GRANT.userId)
    if (session === undefined) throw new Error('there is a session')
    const { issue } = createIdentityTokens({
      masterKeys: [Buffer.alloc(32)],
      issuer: ISSUER,
      now: () => START,
    })
    return { issue, session }
  }

  test('a sign-in within the session gives a new one at once, with its time', async () => {
    const { issue, session } = await issuerAndSession()
    const tokens = [START, START + 1000].map((authenticatedAtMs) =>
      issue({ ...session, authenticatedAtMs }, 'reports'),
    )
    const times = (await Promise.all(tokens)).map((token) => decodeJwt(token).auth_time)
    expect(times).toEqual([START / 1000, START / 1000 + 1])
  })

  test('another method of the same second gives a new one at once', async () => {
    const { issue, session } = await issuerAndSession()
    const tokens = [['pwd'], ['pwd', 'otp', 'mfa']].map((amr) => issue({ ...session, amr }, 'reports'))
    const methods = (await Promise.all(tokens)).map((token) => decodeJwt(token).amr)
    expect(methods).toEqual([['pwd'], ['pwd', 'otp', 'mfa']])
  })

  test('after a rotation of SECRET_KEYS, tokens of the old and the new key verify', async () => {
    const { signIn, sessions } = keep(await startSessionHarness())
    await signIn()
    const [{ session } = { session: undefined }] = await sessions.list(GRANT.userId)
    if (session === undefined) throw new Error('there is a session')
    const [old, next] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
    const tokensWith = (...masterKeys: Buffer[]) =>
      createIdentityTokens({ masterKeys, issuer: ISSUER, now: () => START })
    const [before, during, after] = [tokensWith(old), tokensWith(old, next), tokensWith(next, old)]
    for (const issuer of [before, during, after]) {
      const keySet = createLocalJWKSet(await during.keySet())
      await jwtVerify(await issuer.issue(session, 'reports'), keySet, { currentDate: new Date(START) })
    }
    const kids = async ({ keySet }: typeof before) => (await keySet()).keys.map(({ kid }) => kid)
    expect(await kids(after)).toEqual((await kids(during)).toReversed())
    expect(JSON.stringify(await after.keySet())).not.toContain('"d"')
  })
})
