import { describe, expect, test } from '@jest/globals'
import { createSandbox } from '../../../src/sandbox/sandbox.ts'
import { loadSandboxConfig, parseSandboxConfig } from '../../../src/sandbox/sandbox-config.ts'
import { DEVICE, outcome, useSandbox } from './sandbox-client.ts'

/** The differences between Classic Engine (`v1`) and Identity Engine (`idx`), from docs/identity-engine.md. */

const client = useSandbox()
const AUTHN = '/api/v1/authn'

async function use(settings: object) {
  const response = await fetch(`${client.url}/sandbox/settings`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(settings),
  })
  expect(response.status).toBe(204)
}

const signInToApp = async () => outcome(await client.signIn('amelia.stone', { audience: 'payroll' }))

/** The second sign-in of a user who needs a code only on a new device. */
async function signInAgain(): Promise<string> {
  const context = { deviceToken: DEVICE }
  const asked = await client.signIn('bea.newdevice', { context })
  const factors = '_embedded.factors.0'
  const code = { passCode: client.sandbox.totpCode('bea.newdevice') }
  expect(outcome(await client.follow(asked, `${factors}._links.verify`, code))).toBe('200 SUCCESS')
  return outcome(await client.signIn('bea.newdevice', { context }))
}

const recover = async (kind: 'password' | 'unlock', username: string) =>
  outcome(await client.post(`${AUTHN}/recovery/${kind}`, { username, factorType: 'EMAIL' }))

const sessionToken = async () => String((await client.signIn('amelia.stone')).body.sessionToken)

async function redeem(token: string): Promise<string> {
  const query = new URLSearchParams({
    token,
    redirectUrl: 'https://portal.example.test/',
  })
  const { status, headers } = await client.get(`/login/sessionCookieRedirect?${query}`)
  return `${status} ${headers.has('set-cookie') ? 'session' : 'no session'}`
}

const redeemSessionToken = async () => redeem(await sessionToken())

async function startStepUp(): Promise<string> {
  const { status, headers } = await client.get('/app/payroll/sso')
  return `${status} ${headers.get('location')?.includes('stateToken=') ? 'state token' : 'no state token'}`
}

async function verifyFastPass(): Promise<string> {
  const asked = await client.signIn('faye.fastpass')
  return outcome(await client.follow(asked, '_embedded.factors.signed_nonce._links.verify'))
}

const signInWithoutPassword = async () => outcome(await client.post(AUTHN, { username: 'wanda.key' }))

describe.each([
  ['a sign-in to an app (audience)', signInToApp, {}, '200 SUCCESS', '400 E0000001'],
  ['a known device', signInAgain, {}, '200 SUCCESS', '200 SUCCESS'],
  [
    'a known device without the global session policy',
    signInAgain,
    { globalSessionPolicy: false },
    '200 SUCCESS',
    '200 MFA_REQUIRED',
  ],
  [
    'recovery',
    () => recover('password', 'amelia.stone'),
    {},
    '200 RECOVERY_CHALLENGE',
    '200 RECOVERY_CHALLENGE',
  ],
  [
    'recovery under a policy without classic options',
    () => recover('password', 'amelia.stone'),
    { classicRecovery: false },
    '200 RECOVERY_CHALLENGE',
    '403 E0000034',
  ],
  [
    'an unlock under a policy without classic options',
    () => recover('unlock', 'luis.locked'),
    { classicRecovery: false },
    '200 RECOVERY_CHALLENGE',
    '403 E0000034',
  ],
  ['a session token', redeemSessionToken, {}, '302 session', '302 session'],
  [
    'a session token in an org that redeems none',
    redeemSessionToken,
    { redeemsSessionTokens: false },
    '302 session',
    '200 no session',
  ],
  ['a step-up', startStepUp, {}, '302 state token', '200 no state token'],
  ['Okta FastPass', verifyFastPass, {}, '403 E0000079', '403 E0000079'],
  ['a passkey without a password', signInWithoutPassword, {}, '400 E0000001', '400 E0000001'],
])('%s', (_name, run, settings, onClassicEngine, onIdentityEngine) => {
  test(`on Classic Engine: ${onClassicEngine}`, async () => {
    await use({ pipeline: 'v1', ...settings })
    expect(await run()).toBe(onClassicEngine)
  })

  test(`on Identity Engine: ${onIdentityEngine}`, async () => {
    await use({ pipeline: 'idx', ...settings })
    expect(await run()).toBe(onIdentityEngine)
  })
})

describe('what Classic Engine issued, after the upgrade', () => {
  test('a session token opens no session', async () => {
    const token = await sessionToken()
    await use({ pipeline: 'idx' })
    expect(await redeem(token)).toBe('200 no session')
  })

  test('the state token of a step-up is refused', async () => {
    const { stateToken } = client.sandbox.startStepUp('payroll')
    expect(outcome(await client.post(AUTHN, { stateToken }))).toBe('200 UNAUTHENTICATED')
    await use({ pipeline: 'idx' })
    expect(outcome(await client.post(AUTHN, { stateToken }))).toBe('401 E0000011')
  })
})

test('the pipeline is published without a token; a reset restores the configured one', async () => {
  const published = async (at: string) => (await fetch(`${at}/.well-known/okta-organization`)).json()
  expect(await published(client.url)).toEqual({
    id: expect.stringMatching(/^00o/),
    pipeline: 'v1',
    settings: expect.any(Object),
    _links: { organization: { href: client.url } },
  })
  await use({ pipeline: 'idx' })
  expect(await published(client.url)).toMatchObject({ pipeline: 'idx' })
  await fetch(`${client.url}/sandbox/reset`, { method: 'POST' })
  expect(await published(client.url)).toMatchObject({ pipeline: 'v1' })
})

test('the configuration sets the pipeline and its features', async () => {
  const config = parseSandboxConfig({
    ...loadSandboxConfig(),
    pipeline: 'idx',
    identityEngine: { classicRecovery: false },
  })
  expect(createSandbox({ config }).settings).toMatchObject({
    pipeline: 'idx',
    globalSessionPolicy: true,
    classicRecovery: false,
    redeemsSessionTokens: true,
  })
})
