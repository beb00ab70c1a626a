import { type ChildProcess, spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type SandboxWithBroker, startSandbox } from 'gatehouse-sandbox/package/start-sandbox'
import type { Browser, Page } from 'playwright-core'
import { openChromium } from '../support/chromium.ts'
import { faultsOf } from '../support/demo-page.ts'
import { freePort } from '../support/gatehouse.ts'
import { until } from '../support/until.ts'

/** A starter, as its one command starts it, and a browser. */
interface Starter {
  readonly page: Page
  /** Uncaught errors, and violations of the content security policy. */
  readonly problems: string[]
  /** Users and messages of the sandbox. */
  readonly sandboxUrl: string
  readonly child: ChildProcess
}

/** `npm run package:check` runs installed copies. */
const FOLDER = process.env.STARTERS_FOLDER ?? fileURLToPath(new URL('../../examples', import.meta.url))
/** `demo/test` tries every screen of the one in React. */
const SHORT = ['plain', 'express'] as const
const NAMES = [...SHORT, 'react'] as const
const starters = new Map<string, Starter>()
let chromium: Browser

beforeAll(async () => {
  chromium = await openChromium()
  await Promise.all(
    NAMES.map(async (name) => {
      starters.set(name, await start(name))
    }),
  )
})
afterAll(async () => {
  await chromium.close()
  await Promise.all([...starters.values()].map(({ child }) => stop(child)))
})

function run(name: string, port: number, [program = '', ...args]: string[], env: NodeJS.ProcessEnv = {}) {
  return spawn(program, args, {
    cwd: join(FOLDER, name),
    env: { ...process.env, PORT: String(port), NODE_OPTIONS: '', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true, // npm and the server are one group
  })
}

async function start(name: string): Promise<Starter> {
  const child = run(name, await freePort(), ['npm', '--silent', 'start'])
  let output = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  const printed = () => /Codes: (\S+)\/users\/ada[\s\S]*Open (http:\S+)/.exec(output)
  const [, sandboxUrl = '', url = ''] = (await until(printed, { what: `${name} to start` })) ?? []
  return { ...(await visit(url)), sandboxUrl, child }
}

async function visit(url: string): Promise<Pick<Starter, 'page' | 'problems'>> {
  const page = await chromium.newPage({ locale: 'en-US' })
  const problems: string[] = []
  page.setDefaultTimeout(60_000)
  page.on('pageerror', ({ message }) => problems.push(message))
  page.on('console', (message) => {
    if (/Content Security Policy|Refused to/.test(message.text())) problems.push(message.text())
  })
  await page.goto(url)
  return { page, problems }
}

/** Waits for npm and the server: Vite ends after npm. */
async function stop({ pid }: ChildProcess): Promise<void> {
  if (pid === undefined) return
  process.kill(-pid, 'SIGTERM')
  await until(() => !isRunning(-pid), { what: 'the end of the starter' })
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

function starterOf(name: string): Starter {
  const starter = starters.get(name)
  if (starter === undefined) throw new Error(`${name} did not start`)
  return starter
}

async function signIn(page: Page, password: string, username = 'ada'): Promise<void> {
  await page.getByLabel('Username').fill(username)
  await page.getByLabel('Password').fill(password)
  await press(page, 'Sign in')
}

async function signOut(page: Page): Promise<void> {
  await page.getByText('Signed in as ada@example.test').waitFor()
  await page.getByText('Auditors').waitFor()
  await press(page, 'Sign out')
  await page.getByLabel('Username').waitFor()
}

function press(page: Page, label: string): Promise<void> {
  return page.getByRole('button', { name: label }).click()
}

async function refuseWrongPassword(page: Page): Promise<void> {
  await signIn(page, 'Wrong-Password-1')
  await page.getByRole('alert').getByText('Incorrect username or password').waitFor()
  expect(await faultsOf(page)).toEqual([])
}

test('the starter react sends a push at once, shows groups, and signs out', async () => {
  const { page } = starterOf('react')
  await refuseWrongPassword(page)
  await signIn(page, 'Demo-Password-1', ' ada ')
  await page.getByText('Choose this number on your phone').waitFor()
  await signOut(page)
})

test.each(SHORT)('the starter %s signs in with a code, shows groups, and signs out', async (name) => {
  const { page, sandboxUrl } = starterOf(name)
  await refuseWrongPassword(page)
  await signIn(page, 'Demo-Password-1', ' ada ')
  await press(page, 'Authenticator app')
  await page.getByLabel('Code').fill('000000')
  await press(page, 'Continue')
  await page.getByRole('alert').getByText('Incorrect code').waitFor()
  const response = await fetch(`${sandboxUrl}/users/ada`)
  const { code } = (await response.json()) as { code: string }
  await page.getByLabel('Code').fill(code)
  await press(page, 'Continue')
  await signOut(page)
})

test('the short starters lead back from a text message to the other factors, sign in with a push, and show its number', async () => {
  await Promise.all(
    SHORT.map(async (name) => {
      const { page } = starterOf(name)
      await signIn(page, 'Demo-Password-1')
      await press(page, 'Text message')
      await page.getByLabel('Code').waitFor()
      await press(page, 'Use another way')
      await press(page, 'Okta Verify')
      await page
        .getByRole('status')
        .getByText(/Choose \d+ on your phone/)
        .waitFor()
      await signOut(page)
    }),
  )
})

test.each([
  ['plain', '/'],
  ['express', '/sign-in'],
])(
  'the starter %s goes to returnTo, at once within a session, but not if it must ask again',
  async (name, path) => {
    const { page } = starterOf(name)
    const { origin } = new URL(page.url())
    const app = `${origin}/?app=reports`
    const open = (returnTo: string, more = '') =>
      page.goto(`${origin}${path}?returnTo=${encodeURIComponent(returnTo)}${more}`)
    async function signInWithPush() {
      await signIn(page, 'Demo-Password-1')
      await press(page, 'Okta Verify')
    }
    await open('https://evil.example/')
    await signInWithPush()
    await page.getByText('Signed in as ada@example.test').waitFor()
    expect(new URL(page.url()).origin).toBe(origin)
    await open(app)
    await page.waitForURL(app)
    await open(app, '&prompt=login&reason=amr&amr=hwk')
    await page.getByRole('alert').getByText('A security key is needed').waitFor()
    await signInWithPush()
    await page.waitForURL(app)
    await signOut(page)
  },
)

test.each([
  ['plain', '/'],
  ['express', '/sign-in'],
])('the starter %s lets Gatehouse lead to the application of another host', async (name, path) => {
  const { page } = starterOf(name)
  const { origin } = new URL(page.url())
  const query = `?returnTo=${encodeURIComponent('https://wiki.example.com/?a=b')}&handover=${'h'.repeat(43)}`
  const signin = `${origin}/signin${query}`
  await page.route(signin, (route) => route.fulfill({ body: 'handed over', contentType: 'text/plain' }))
  await page.goto(`${origin}${path}${query}#part`)
  await signIn(page, 'Demo-Password-1')
  await press(page, 'Okta Verify')
  await page.waitForURL(`${signin}#part`)
  await page.goto(origin + path + query) // within the session
  await page.waitForURL(signin)
  await page.unroute(signin)
  await page.goto(origin)
  await signOut(page)
})

/** What `npm start` runs, after it has compiled. */
function serverOf(name: string): string[] {
  if (name === 'express') return [process.execPath, 'dist/main.js']
  const vite = createRequire(join(FOLDER, name, 'package.json')).resolve('vite/package.json')
  return [process.execPath, join(dirname(vite), 'bin/vite.js')]
}

/** Another Gatehouse, with a user that the starters' own sandboxes do not have. */
async function startOtherGatehouse(publicUrl: string): Promise<SandboxWithBroker> {
  return startSandbox({
    people: [
      {
        login: 'grace@example.test',
        password: 'Demo-Password-1',
        factors: ['totp', 'sms'],
        groups: ['Operators'],
      },
    ],
    groups: { Operators: ['end_user'] },
    broker: { publicUrl, env: { TRUST_PROXY: '127.0.0.1,::1', OKTA_SIGN_OUT: 'on' } },
  })
}

async function pathsAtOkta({ authnUrl }: SandboxWithBroker): Promise<readonly string[]> {
  const requests = (await (await fetch(`${authnUrl}/sandbox/requests`)).json()) as { path: string }[]
  return requests.map(({ path }) => path)
}

test.each(NAMES)('the starter %s has no error and obeys its content security policy', (name) => {
  expect(starterOf(name).problems).toEqual([])
})

test.each(NAMES)(
  'with GATEHOUSE_URL, the starter %s is a portal of that Gatehouse, and signs out at Okta too',
  async (name) => {
    // from version 8.4 on, Vite refuses a second process in a folder
    await stop(starterOf(name).child)
    starters.delete(name)
    const port = await freePort()
    const url = `http://localhost:${port}`
    const other = await startOtherGatehouse(url)
    const child = run(name, port, serverOf(name), { GATEHOUSE_URL: other.brokerUrl })
    try {
      await until(async () => (await fetch(url)).ok, { what: `${name} to start` })
      const { page, problems } = await visit(url)
      await signIn(page, 'Demo-Password-1', 'grace')
      await press(page, 'Authenticator app')
      await page.getByLabel('Code').fill(other.control.totpCode('grace'))
      await press(page, 'Continue')
      await page.getByText('Operators').waitFor()
      const signin = await fetch(`${url}/signin?returnTo=/`)
      expect(await signin.text()).toMatch(/"errorCode":"E0000006"/) // of Gatehouse: no navigation
      await press(page, 'Sign out')
      await until(async () => (await pathsAtOkta(other)).includes('/login/signout'), { what: 'the sign-out' })
      await page.waitForURL(`${url}/**`)
      await page.getByLabel('Username').waitFor()
      expect(problems).toEqual([])
      await page.close()
    } finally {
      await stop(child)
      await other.stop()
    }
  },
)
