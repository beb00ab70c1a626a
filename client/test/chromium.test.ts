import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { openChromium } from 'gatehouse-test-support/chromium'
import { startGatehouse } from 'gatehouse-test-support/gatehouse'
import { generousLimits } from 'gatehouse-test-support/generous-limits'
import { type Harness, PASSWORD, startHarness } from 'gatehouse-test-support/harness'
import { openNodeClient, signIn } from 'gatehouse-test-support/node-client'
import { listenAnywhere } from 'gatehouse-test-support/stub-upstream'
import { until } from 'gatehouse-test-support/until'
import type { Browser, BrowserContext, Page } from 'playwright-core'

/** The built package in pages of Chromium. The functions that `evaluate` gets run in the page. */

const DIST = join(import.meta.dirname, '../../client/dist')

let harness: Harness
let chromium: Browser
let context: BrowserContext
/** Serves the same files on an origin of ALLOWED_ORIGINS. */
let portal: Server
let portalOrigin: string
beforeAll(async () => {
  chromium = await openChromium()
  portal = createServer(({ url = '' }, res) => {
    const { contentType, body } = fileOf(url)
    res.writeHead(200, { 'content-type': contentType }).end(body)
  })
  portalOrigin = `http://localhost:${await listenAnywhere(portal)}`
  harness = await startHarness({ tunables: generousLimits, env: { ALLOWED_ORIGINS: portalOrigin } })
})
afterAll(async () => {
  await chromium.close()
  portal.close()
  await harness.stop()
})
beforeEach(async () => {
  harness.sandbox.reset()
  context = await chromium.newContext()
  await context.route(`${harness.gatehouse.url}/portal/**`, (route) =>
    route.fulfill(fileOf(route.request().url())),
  )
})
afterEach(() => context.close())

/** The page, or a file of the package. */
function fileOf(url: string) {
  const [, path = ''] = url.split('/portal/')
  if (path === '') return { contentType: 'text/html', body: '<!doctype html><title>Portal</title>' }
  return { contentType: 'text/javascript', body: readFileSync(join(DIST, path), 'utf8') }
}

/**
 * A page with the package's functions, a client, and the reasons that `onSessionEnd` has told, as
 * globals.
 */
async function openPage(origin = harness.gatehouse.url, brokerUrl = harness.gatehouse.url): Promise<Page> {
  return openAgain(await context.newPage(), origin, brokerUrl)
}

async function openAgain(
  page: Page,
  origin = harness.gatehouse.url,
  brokerUrl = harness.gatehouse.url,
): Promise<Page> {
  await page.goto(`${origin}/portal/`)
  await page.evaluate(`(async () => {
    Object.assign(window, await import('/portal/index.js'))
    window.gatehouse = createGatehouse({ baseUrl: '${brokerUrl}' })
    window.reasons = []
    gatehouse.onSessionEnd((reason) => reasons.push(reason))
    window.signIn = (login) => gatehouse.signIn({ username: login + '@example.test', password: '${PASSWORD}' })
    await gatehouse.session()
  })()`)
  return page
}

/** Runs statements in the page; `return` gives the result. */
const run = <Result = unknown>(page: Page, statements: string) =>
  page.evaluate<Result>(`(async () => { ${statements} })()`)
const reasonsOf = (page: Page) => page.evaluate<string[]>('reasons')
const signInAgain = (page: Page, login = 'amelia.stone') =>
  run(page, `await signIn('${login}'); await gatehouse.session()`)
/** A tab that the user returns to. */
const show = (page: Page) => page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")

const SIGN_IN_WITH_CODE = `
  const step = await signIn('tomas.berg')
  const wrong = await step.verify(step.factors[0], { passCode: '000000' }).catch(({ code }) => code)
  const done = await step.verify(step.factors[0], { passCode: CODE })
  const { login } = await gatehouse.session()
  const { groups } = await gatehouse.groups()
  await gatehouse.refresh()
  await gatehouse.signOut()
  return [wrong, done.status, login, groups.length > 0, await gatehouse.session()]`

test.each([
  ['on the broker’s origin', () => harness.gatehouse.url],
  ['on an origin of ALLOWED_ORIGINS', () => portalOrigin],
])('a user signs in with a code and signs out, %s', async (_, origin) => {
  const page = await openPage(origin())
  const code = harness.sandbox.totpCode('tomas.berg')
  expect(await run(page, SIGN_IN_WITH_CODE.replace('CODE', `'${code}'`))).toEqual([
    'E0000068',
    'SUCCESS',
    'tomas.berg@example.test',
    true,
    undefined,
  ])
  expect(await reasonsOf(page)).toEqual(['signed-out'])
})

test('with OKTA_SIGN_OUT, a sign-out ends the session at Okta, and leads to the sign-in page', async () => {
  const { PUBLIC_URL: _, ...env } = harness.signInEnv
  const broker = await startGatehouse({ env: { ...env, OKTA_SIGN_OUT: 'on' } })
  try {
    await context.route(`${broker.url}/portal/**`, (route) => route.fulfill(fileOf(route.request().url())))
    const page = await openPage(broker.url, broker.url)
    await signInAgain(page)
    harness.clearUpstreamCalls()
    await page.evaluate('void gatehouse.signOut()')
    await page.waitForURL(`${broker.url}/`)
    expect(harness.upstreamCalls()).toMatchObject([
      { method: 'GET', path: '/login/signout', query: { fromURI: `${broker.url}/` } },
    ])
  } finally {
    await broker.stop()
  }
})

test('a security key is registered and then verified, in a browser without the functions for JSON', async () => {
  await context.addInitScript(`
    delete PublicKeyCredential.parseRequestOptionsFromJSON
    delete PublicKeyCredential.parseCreationOptionsFromJSON`)
  const page = await openPage()
  const device = await context.newCDPSession(page)
  await device.send('WebAuthn.enable')
  const options = {
    protocol: 'ctap2',
    transport: 'usb',
    isUserVerified: true,
    automaticPresenceSimulation: true,
  } as const
  const { authenticatorId } = await device.send('WebAuthn.addVirtualAuthenticator', { options })
  const enroll = `
    const enroll = await signIn('erin.enroll')
    const activate = await enroll.enroll(enroll.factors.find(({ factorType }) => factorType === 'webauthn'))
    const next = await activate.activate(await createAttestation(activate))
    const done = next.skip ? await next.skip() : next
    await gatehouse.signOut()
    return done.status`
  const [activation] = await Promise.all([
    page.waitForRequest('**/lifecycle/activate'),
    run(page, enroll).then((status) => expect(status).toBe('SUCCESS')),
  ])
  expect(activation.postDataJSON()).toMatchObject({ transports: '["usb"]', clientExtensions: '{}' })
  const verify = `
    const required = await signIn('erin.enroll')
    const challenge = await required.verify(required.factors.find(({ factorType }) => factorType === 'webauthn'))
    window.last = challenge
    const done = await challenge.verify(await getAssertion(challenge))
    return [done.status, (await gatehouse.session()).amr]`
  expect(await run(page, verify)).toEqual(['SUCCESS', ['pwd', 'hwk', 'mfa']])

  await device.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId })
  await device.send('WebAuthn.addVirtualAuthenticator', { options })
  const other = 'return getAssertion(last).catch((error) => [error instanceof DOMException, error.name])'
  expect(await run(page, other)).toEqual([true, 'NotAllowedError'])
})

test('a relying party id that the page sets: one key for all hosts below it, and for none beside it', async () => {
  const page = await context.newPage()
  const key = await context.newCDPSession(page)
  await key.send('WebAuthn.enable')
  const { authenticatorId } = await key.send('WebAuthn.addVirtualAuthenticator', {
    options: { protocol: 'ctap2', transport: 'usb', isUserVerified: true, automaticPresenceSimulation: true },
  })
  const challenge = 'AAAA'
  const enrolled = {
    factorType: 'webauthn',
    provider: 'FIDO',
    profile: { credentialId: '' },
    _embedded: {
      challenge: { challenge },
      activation: {
        challenge,
        rp: { name: 'Portal' },
        user: { id: 'AAAA', name: 'ada@example.test', displayName: 'Ada' },
        pubKeyCredParams: [{ type: 'public-key', alg: -7 }],
      },
    },
  }
  /** Runs a function of the package on this host, with Okta's answer. */
  const runAt = async (host: string, call: string) => {
    await page.route(`https://${host}/portal/**`, (route) => route.fulfill(fileOf(route.request().url())))
    await page.goto(`https://${host}/portal/`)
    await page.evaluate(`(async () => Object.assign(window, await import('/portal/index.js')))()`)
    const step = JSON.stringify({ answer: { _embedded: {} }, factor: enrolled })
    const result = `${call}.then(() => 'done', ({ name }) => name)`
    return run(page, `const step = ${step}; return ${result}`)
  }
  const asked = (rpId: string) => `getAssertion(step, { rpId: '${rpId}' })`

  const create = `createAttestation(step, { rpId: 'example.test' })`
  expect(await runAt('portal.example.test', create)).toBe('done')
  const { credentials } = await key.send('WebAuthn.getCredentials', { authenticatorId })
  expect(credentials.map(({ rpId }) => rpId)).toEqual(['example.test'])
  enrolled.profile.credentialId = Buffer.from(credentials[0]?.credentialId ?? '', 'base64').toString(
    'base64url',
  )
  expect(await runAt('login.example.test', asked('example.test'))).toBe('done')
  // has no such key
  expect(await runAt('login.example.test', 'getAssertion(step)')).toBe('NotAllowedError')
  expect(await runAt('portal.another.test', asked('example.test'))).toBe('SecurityError')
})

test('after a reload, and after Back, the sign-in continues; after its end, there is nothing to continue', async () => {
  const page = await openPage()
  const resume = async () => {
    await openAgain(page)
    return run(page, 'return (window.step = await gatehouse.resume())?.status')
  }
  expect(await resume()).toBeUndefined()
  await run(page, `await signIn('priya.nair')`)
  expect(await resume()).toBe('MFA_REQUIRED')
  await run(page, `await step.verify(step.factors.find(({ factorType }) => factorType === 'push'))`)
  expect(await resume()).toBe('MFA_CHALLENGE')
  const other = await openPage()
  expect(await run(other, 'return gatehouse.resume()')).toBeUndefined() // each tab has its own
  await page.goto('about:blank')
  await page.goBack()
  expect(await resume()).toBe('MFA_CHALLENGE')
  await run(page, 'await step.cancel()')
  expect(await resume()).toBeUndefined()
  await signInAgain(page)
  expect(await resume()).toBeUndefined()
})

test('a session that is ended elsewhere is told when the page is visible again; while the broker cannot tell, it is not', async () => {
  const page = await openPage()
  await signInAgain(page)
  const elsewhere = await openNodeClient(harness)
  await signIn(elsewhere, 'amelia.stone')
  await elsewhere.gatehouse.endOtherSessions()
  let refused = 0
  await page.route('**/api/v1/sessions/me', (route) => {
    refused += 1
    return route.fulfill({ status: 503, json: { errorCode: 'E0000009', errorSummary: 'Not now' } })
  })
  await show(page)
  await until(() => refused === 1)
  await page.unroute('**/api/v1/sessions/me')
  expect(await reasonsOf(page)).toEqual([])
  await show(page)
  await until(async () => (await reasonsOf(page)).length > 0)
  expect(await reasonsOf(page)).toEqual(['ended'])
})

test('a push that is approved while the page is hidden signs in as soon as the page is shown', async () => {
  const page = await openPage()
  const turn = (state: string) =>
    page.evaluate(`(() => {
      Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true })
      document.dispatchEvent(new Event('visibilitychange'))
    })()`)
  await run(
    page,
    `const required = await signIn('priya.nair')
    const step = await required.verify(required.factors.find(({ factorType }) => factorType === 'push'))
    window.statuses = []
    window.waits = (async () => { for await (const each of step.poll({ everyMs: 50 })) statuses.push(each.status) })()`,
  )
  await page.waitForFunction('statuses.length > 0')
  await turn('hidden')
  const polls: string[] = []
  page.on('request', (request) => polls.push(request.url()))
  harness.sandbox.answerPush('priya.nair', 'approve')
  // as long as twenty polls: that nothing is sent needs time to see
  await run(page, 'await new Promise((resolve) => setTimeout(resolve, 1000))')
  expect(polls).toEqual([])
  await turn('visible')
  await run(page, 'await waits')
  expect(await page.evaluate('statuses.at(-1)')).toBe('SUCCESS')
})
