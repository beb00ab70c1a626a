import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createGatehouse, type Gatehouse, type SignInStep } from 'gatehouse-client'
import {
  type SandboxWithBroker,
  type SecurityKey,
  startSandbox,
} from 'gatehouse-sandbox/package/start-sandbox'
import type { Browser, Page } from 'playwright-core'
import { CookieJar } from 'tough-cookie'
import { openChromium } from '../support/chromium.ts'
import { freePort } from '../support/gatehouse.ts'
import { PASSWORD } from '../support/harness.ts'

/** The code of docs/recipes.md, as it stands there. */

const ROOT = join(import.meta.dirname, '../..')
const PAGE = readFileSync(join(ROOT, 'docs/recipes.md'), 'utf8')
const LOGIN = 'ada@example.test'

let folder: string
let sandbox: SandboxWithBroker
let chromium: Browser
beforeAll(async () => {
  mkdirSync(join(ROOT, 'build'), { recursive: true })
  // below the project, whose packages the code imports
  folder = mkdtempSync(join(ROOT, 'build/recipes-'))
  chromium = await openChromium()
  const people = [{ login: LOGIN, password: PASSWORD, factors: ['webauthn' as const] }]
  const locked = { login: 'lars@example.test', password: PASSWORD }
  sandbox = await startSandbox({ people: [...people, locked], broker: true })
})
afterAll(async () => {
  await chromium.close()
  await sandbox.stop()
  rmSync(folder, { recursive: true })
})

function codeOf(recipe: string): string {
  const [, section = ''] = PAGE.split(`\n## ${recipe}\n`)
  const [, code = ''] = /```\w+\n(.*?)```/s.exec(section.split('\n## ')[0] ?? '') ?? []
  expect(code).not.toBe('')
  return code
}

/** What the recipe exports. */
async function load<Exported>(recipe: string): Promise<Exported> {
  const file = join(folder, `${recipe.replaceAll(/\W/g, '-')}.mjs`)
  writeFileSync(file, codeOf(recipe))
  return import(pathToFileURL(file).href)
}

/** A page, or a file of the package. */
function fileOf(url: string, html = '') {
  const [, path = ''] = new URL(url, 'http://localhost').pathname.split('/portal/')
  if (path === '') return { contentType: 'text/html', body: `<!doctype html>${html}` }
  return { contentType: 'text/javascript', body: readFileSync(join(ROOT, 'client/dist', path), 'utf8') }
}

/** Opens it on this origin, with the functions of the package as globals. */
async function open(page: Page, origin: string, query = ''): Promise<Page> {
  await page.goto(`${origin}/portal/${query}`)
  await page.evaluate("(async () => Object.assign(window, await import('/portal/index.js')))()")
  return page
}

/** The page of a portal on the broker's origin. */
async function openPortal(origin: string, html = '', query = ''): Promise<Page> {
  const page = await chromium.newPage()
  await page.route(`${origin}/portal/**`, (route) => route.fulfill(fileOf(route.request().url(), html)))
  return open(page, origin, query)
}

/** The functions that the code exports, as globals of the page. */
const addTo = (page: Page, recipe: string) =>
  page.evaluate(codeOf(recipe).replaceAll(/^export (async )?function (\w+)/gm, 'window.$2 = $1function $2'))

async function visit(): Promise<Gatehouse> {
  const gatehouse = createGatehouse({ baseUrl: sandbox.brokerUrl, cookieJar: new CookieJar() })
  await gatehouse.session()
  return gatehouse
}

test('each recipe has one code block, which a test below runs', () => {
  const tests = readFileSync(join(import.meta.dirname, '../../test/docs/recipes.test.ts'), 'utf8')
  const recipes = [...PAGE.matchAll(/^## (.*)$/gm)].map(([, recipe = '']) => recipe)
  expect(recipes.length).toBeGreaterThan(5)
  expect(PAGE.match(/^```\w+$/gm)).toHaveLength(recipes.length)
  for (const recipe of recipes) expect(tests).toContain(`'${recipe}')`)
})

test('remaining attempts: a recovery is offered after the third wrong password, and a limit says how long to wait', async () => {
  type Shown = { readonly title: string; readonly text: string; readonly offersRecovery: boolean }
  const { createAttempts } = await load<{ createAttempts(): (error: unknown) => Shown }>('Remaining attempts')
  const [gatehouse, afterError] = [await visit(), createAttempts()]
  const shown: Shown[] = []
  while (shown.at(-1)?.title !== 'Too many attempts' && shown.length < 30)
    await gatehouse
      .signIn({ username: 'lars', password: 'Wrong-Password-1' })
      .catch((error) => shown.push(afterError(error)))
  const offers = shown.map(({ offersRecovery }) => offersRecovery)
  expect(offers.slice(0, 4)).toEqual([false, false, true, true])
  expect(shown.at(-1)).toMatchObject({
    title: 'Too many attempts',
    text: expect.stringMatching(/in \d+ (second|minute)/),
    offersRecovery: true,
  })
})

test('logo: the starter in React shows it', async () => {
  const copy = join(folder, 'react')
  cpSync(join(ROOT, 'examples/react'), copy, {
    recursive: true,
    filter: (path) => !/node_modules/.test(path),
  })
  writeFileSync(join(copy, 'src/slots.tsx'), codeOf('Logo'))
  writeFileSync(
    join(copy, 'public/logo.svg'),
    '<svg xmlns="http://www.w3.org/2000/svg" width="160" height="40"><path d="M0 0h160v40z"/></svg>',
  )
  const vite = [join(ROOT, 'node_modules/vite/bin/vite.js'), 'build', copy, '--configLoader', 'runner']
  execFileSync(process.execPath, [...vite, '--logLevel', 'error'], { stdio: ['ignore', 'ignore', 'inherit'] })
  const page = await chromium.newPage()
  await page.route(`${sandbox.brokerUrl}/**`, (route) => {
    const { pathname } = new URL(route.request().url())
    if (pathname.startsWith('/api/')) return route.continue()
    return route.fulfill({ path: join(copy, 'dist', pathname === '/' ? 'index.html' : pathname) })
  })
  await page.goto(sandbox.brokerUrl)
  const logo = page.getByRole('img', { name: 'Example portal' })
  await logo.waitFor()
  const width = '(async (image) => (await image.decode(), image.naturalWidth))(document.images[0])'
  expect(await page.evaluate(width)).toBe(160)
  await page.getByRole('link', { name: 'Help' }).waitFor()
})

test('pre-filled user name: the field has it, and the password is next', async () => {
  const form = '<form><input name="username"><input name="password" type="password"></form>'
  const fill =
    'fillUsername(document.forms[0]), [document.activeElement.name, document.forms[0].username.value]'
  const filled = async (query: string) => {
    const page = await openPortal(sandbox.brokerUrl, form, query)
    await addTo(page, 'Pre-filled user name')
    return page.evaluate(fill)
  }
  expect(await filled('?login=ada@example.test&returnTo=/')).toEqual(['password', LOGIN])
  expect(await filled('')).toEqual(['username', ''])
})

test('WebAuthn in CI: the key of a person signs in, in Chromium', async () => {
  type Recipe = { plugIn(page: Page, key: SecurityKey): Promise<void> }
  const { plugIn } = await load<Recipe>('WebAuthn in CI')
  const page = await openPortal(sandbox.brokerUrl)
  await plugIn(page, sandbox.control.securityKey('ada'))
  const status = await page.evaluate(`(async () => {
    const gatehouse = createGatehouse()
    await gatehouse.session()
    const required = await gatehouse.signIn({ username: 'ada', password: '${PASSWORD}' })
    const challenge = await required.verify(required.factors[0])
    return (await challenge.verify(await getAssertion(challenge))).status
  })()`)
  expect(status).toBe('SUCCESS')
})

test('Next.js sign-in page: it is that of the example, with which npm run nextjs:check signs in', () => {
  const example = readFileSync(join(ROOT, 'examples/nextjs/app/sign-in/page.tsx'), 'utf8')
  expect(codeOf('Next.js sign-in page')).toBe(example)
})

test('Okta being down: a sign-in says so, an open session goes on, and after it a sign-in succeeds', async () => {
  type Say = (title: string, text: string) => void
  const { signInOrSay, takeOktaAway } = await load<{
    signInOrSay(gatehouse: Gatehouse, credentials: object, say: Say): Promise<SignInStep | undefined>
    takeOktaAway(of: SandboxWithBroker): void
  }>('Okta being down')
  await sandbox.control.reset()
  const [user, other] = [await visit(), await visit()]
  const credentials = { username: 'lars', password: PASSWORD }
  const said: string[] = []
  const say: Say = (title, text) => said.push(title, text)
  expect((await signInOrSay(user, credentials, say))?.status).toBe('SUCCESS')
  takeOktaAway(sandbox)
  expect(await signInOrSay(other, credentials, say)).toBeUndefined()
  expect(said).toEqual(['The sign-in service is not available', 'Please try again later.'])
  expect(codeOf('Okta being down')).toContain(`"${said.join('", "')}"`)
  expect(await user.session()).toMatchObject({ login: 'lars@example.test' })
  expect(await user.groups()).toMatchObject({ groups: [] })
  sandbox.control.setFaults({})
  expect((await signInOrSay(other, credentials, say))?.status).toBe('SUCCESS')
})

test('subdomains in development: a page below the portal’s host has its session; a page beside it is refused', async () => {
  type Recipe = { startPortal(ports: { port: number; appPort: number }): Promise<SandboxWithBroker> }
  const { startPortal } = await load<Recipe>('Subdomains in development')
  const [port, appPort] = [await freePort(), await freePort()]
  const portal = await startPortal({ port, appPort })
  const app = createServer(({ url = '' }, res) => {
    const { contentType, body } = fileOf(url)
    res.writeHead(200, { 'content-type': contentType }).end(body)
  })
  await once(app.listen(appPort, '127.0.0.1'), 'listening')
  try {
    const origin = `http://portal.localhost:${port}`
    const page = await openPortal(origin)
    const signIn = `createGatehouse().signIn({ username: 'amelia.stone', password: '${PASSWORD}' })`
    expect(await page.evaluate(`${signIn}.then(({ status }) => status)`)).toBe('SUCCESS')
    const session = `createGatehouse({ baseUrl: '${origin}' }).session()`
    const login = `${session}.then((found) => found?.login, ({ status }) => status)`
    await open(page, `http://app.portal.localhost:${appPort}`)
    expect(await page.evaluate(login)).toBe('amelia.stone@example.test')
    await open(page, `http://app.localhost:${appPort}`)
    expect(await page.evaluate(login)).toBe(0) // the browser shows no answer
  } finally {
    app.close()
    app.closeAllConnections()
    await portal.stop()
  }
})
