import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { FACTOR_TYPE_NAMES } from '../../src/factor-types.ts'
import { openApiDocument } from '../../src/openapi/document.ts'
import { FACTOR_TYPES, loadSandboxConfig, type SandboxConfig } from '../../src/sandbox/sandbox-config.ts'
import { FACTOR_TYPE_ROWS } from '../support/factor-types.ts'
import { type Harness, startHarness } from '../support/harness.ts'
import { navigate } from '../support/navigate.ts'
import { onClassicEngine } from '../support/on-classic-engine.ts'
import { openPage } from '../support/portal-page.ts'
import { errorOf, factorAt, hrefAt, valueAt } from '../support/transaction-view.ts'

/** The same tests for every factor type: a type without a row, or with a part missing, fails. */
const ROWS = Object.entries(FACTOR_TYPE_ROWS).map(([factorType, row]) => ({ factorType, ...row }))
const CONFIG = loadSandboxConfig()

test('each factor type has a row, and each row a factor type', () => {
  expect(Object.keys(FACTOR_TYPE_ROWS).sort()).toEqual([...FACTOR_TYPE_NAMES].sort())
})

/** No waiting between messages, no locked factors: only the broker's limits apply. */
const unlimited = (config: SandboxConfig): SandboxConfig => ({
  ...config,
  limits: { ...config.limits, wrongCodes: 1000, resendSeconds: 0 },
})

describe('with the sandbox', () => {
  let harness: Harness
  beforeAll(async () => {
    harness = await startHarness({ sandboxConfig: unlimited })
  })
  afterAll(() => harness.stop())
  beforeEach(async () => {
    harness.sandbox.reset()
    const redis = harness.redis.client()
    await redis.flushall() // the limits
    redis.disconnect()
  })

  test.each(ROWS)('$factorType opens a session with amr $amr, audited', async ({ login, amr, prove }) => {
    const before = harness.gatehouse.logLines().length
    const page = await openPage(harness)
    await page.signIn(login)
    await prove(page, harness, login)
    const methods = harness.gatehouse
      .logLines()
      .slice(before)
      .filter(({ event }) => event === 'sign_in_succeeded')
      .map((line) => line.methods)
    expect((await page.session())?.amr).toEqual(amr)
    expect(methods).toEqual(amr === undefined ? [] : [amr.join(' ')])
  })

  test.each(ROWS)('$factorType: $limit attempts are sent', async ({ factorType, login, attempt, limit }) => {
    const page = await openPage(harness)
    const required = await page.signIn(login)
    const verify = hrefAt(required, `${factorAt(required, factorType)}._links.verify`)
    // an org that would challenge FastPass: the sandbox refuses it, and refused challenges do not count
    if (factorType === 'signed_nonce') {
      const body = { ...required.json, stateToken: undefined, status: 'MFA_CHALLENGE' }
      page.browser.allowAnyTransaction()
      harness.sandbox.faults.authn.set({ kind: 'status', path: new URL(verify).pathname, status: 200, body })
    }
    const most = limit ?? 12
    for (let sent = 0; sent < most; sent += 1) {
      const answer = await page.send(verify, attempt)
      expect([answer.status, sent]).not.toEqual([429, sent])
      if (valueAt(answer.json, '_links.prev') !== undefined) await page.follow('_links.prev')
    }
    const last = await page.send(verify, attempt)
    expect(errorOf(last)).toEqual(limit === undefined ? [403, 'E0000068'] : [429, 'E0000047'])
  })
})

describe('with all types in HIDDEN_FACTORS', () => {
  const ALL_OFFERED = CONFIG.enabledFactors.map((name) => {
    const [, type = '', provider = ''] = /^(.+):(\w+)$/.exec(name) ?? []
    return { type, provider, enrollment: 'OPTIONAL' } as SandboxConfig['enrollmentPolicies'][string][number]
  })
  let harness: Harness
  beforeAll(async () => {
    harness = await startHarness({
      env: { HIDDEN_FACTORS: FACTOR_TYPE_NAMES.join(','), STEP_UP: 'on' },
      sandboxConfig: (config) => ({
        ...config,
        enrollmentPolicies: { ...config.enrollmentPolicies, everything: ALL_OFFERED },
      }),
    })
  })
  afterAll(() => harness.stop())
  beforeEach(() => {
    harness.sandbox.reset()
    harness.clearUpstreamCalls()
  })

  const idOf = (login: string, factorType: string) =>
    harness.sandbox.user(login).factors.find((factor) => factor.factorType === factorType)?.id
  const atOkta = async (path: string, body: object) => {
    const headers = { 'content-type': 'application/json', accept: 'application/json' }
    const init = { method: 'POST', headers, body: JSON.stringify(body) }
    return (await fetch(harness.authnUrl + path, init)).json()
  }

  test.each(ROWS)('$factorType is not offered, and refused', async ({ factorType, login, attempt }) => {
    const page = await openPage(harness)
    expect((await page.signIn(login)).json.status).toBe('MFA_REQUIRED')
    expect(page.held.text).not.toContain(`"${factorType}"`)
    harness.clearUpstreamCalls()
    const verify = `/api/v1/authn/factors/${idOf(login, factorType)}/verify`
    expect(errorOf(await page.send(verify, attempt))).toEqual([403, 'E0000079'])
    expect(harness.upstreamCalls()).toEqual([])
  })

  test.each(ROWS.filter(({ amr }) => amr !== undefined))(
    '$factorType is not usable in a step-up in which Okta has challenged it',
    async ({ factorType, login, attempt }) => {
      const { stateToken } = onClassicEngine(harness).sandbox.startStepUp('payroll', login)
      await atOkta('/api/v1/authn', { stateToken })
      const verify = `/api/v1/authn/factors/${idOf(login, factorType)}/verify`
      expect(valueAt(await atOkta(verify, { stateToken }), '_embedded.factor.factorType')).toBe(factorType)

      const page = await openPage(harness)
      const arrival = `${harness.gatehouse.url}/signin/step-up?stateToken=${stateToken}`
      const { location } = await navigate(page.browser, arrival)
      const handle = new URL(location ?? '').searchParams.get('stateToken')
      const answer = await page.begin('/api/v1/authn', { stateToken: handle })
      expect(answer.json.status).toBe('MFA_CHALLENGE')
      expect(answer.text).not.toContain(`"${factorType}"`)
      expect(Object.keys(valueAt(answer.json, '_links') ?? {}).sort()).toEqual(['cancel', 'prev'])
      harness.clearUpstreamCalls()
      expect(errorOf(await page.send(verify, attempt))).toEqual([403, 'E0000079'])
      const redirect = `${harness.gatehouse.url}/sso/idps/0oasandboxidp000001?stateToken=${handle}`
      expect((await navigate(page.browser, redirect)).status).toBe(403)
      expect(harness.upstreamCalls()).toEqual([])
    },
  )

  test.each(ALL_OFFERED)('$type of $provider cannot be enrolled', async ({ type, provider }) => {
    const page = await openPage(harness)
    const asked = await page.signIn('erin.enroll')
    expect([asked.json.status, valueAt(asked.json, '_embedded.factors')]).toEqual(['MFA_ENROLL', []])
    harness.clearUpstreamCalls()
    const refused = await page.send('/api/v1/authn/factors', { factorType: type, provider })
    expect(errorOf(refused)).toEqual([403, 'E0000079'])
    expect(harness.upstreamCalls()).toEqual([])
  })
})

describe('in the other places', () => {
  const document: unknown = JSON.parse(JSON.stringify(openApiDocument()))
  const operation = (path: string) => valueAt(valueAt(document, 'paths'), `${path}.post`)
  const fieldsOf = (path: string) =>
    valueAt(Object.values(valueAt(operation(path), 'requestBody.content') ?? {})[0], 'schema.properties')

  test.each(ROWS)('OpenAPI names $factorType', ({ factorType, proof }) => {
    const enroll = fieldsOf('/api/v1/authn/factors')
    expect(valueAt(enroll, 'factorType.examples')).toContain(factorType)
    const verify = '/api/v1/authn/factors/{id}/verify'
    const text =
      proof === undefined
        ? valueAt(operation(verify), 'description')
        : valueAt(fieldsOf(verify), `${proof}.description`)
    expect(text).toContain(`\`${factorType}\``)
  })

  test.each(ROWS)('OpenAPI has a schema for the answers of $factorType', ({ factorType }) => {
    const schemas = Object.values(valueAt(document, 'components.schemas') ?? {})
    const named = schemas.flatMap((schema) => [
      valueAt(schema, 'properties.factorType.const'),
      ...[valueAt(schema, 'properties.factorType.enum') ?? []].flat(),
    ])
    expect(named).toContain(factorType)
  })

  test.each(ROWS)('the sandbox has $factorType, and a user with it', ({ factorType, login }) => {
    expect(FACTOR_TYPES).toContain(factorType)
    const user = CONFIG.users.find((one) => one.login === `${login}@example.test`)
    expect(user?.factors.map(({ type }) => type)).toContain(factorType)
  })

  test.each(ROWS)('the demo’s page knows $factorType', async ({ factorType }) => {
    const texts = '../../build/demo/page/texts/english.js' // its other modules need a browser
    const { ENGLISH } = await import(texts)
    const name = factorType.startsWith('assertion:') ? 'claims_provider' : factorType // one text for them
    expect(Object.keys(ENGLISH.factors)).toContain(name)
  })
})
