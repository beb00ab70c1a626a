import { execFileSync } from 'node:child_process'
import { mkdir, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { PassThrough } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { startDemo } from '../build/demo/demo.js'
import { defaultConfigPath } from '../build/sandbox/sandbox-config.js'

/** `npm run screenshots`: screenshots of the demo for the docs, in light and dark. */

const OUT = fileURLToPath(new URL('../docs/images/', import.meta.url))
const BIG_BYTES = 200_000

const demo = await startDemo({
  port: await freePort(),
  sandboxConfigPath: defaultConfigPath,
  logStream: new PassThrough().resume(),
})
const browser = await chromium.launch({
  executablePath: findChromium(),
  args: ['--no-sandbox', '--headless'],
})
await mkdir(OUT, { recursive: true })
try {
  for (const colorScheme of ['light', 'dark']) await takeAll(colorScheme)
} finally {
  await browser.close()
  await demo.stop()
}

async function takeAll(colorScheme) {
  demo.sandbox.reset()
  await visit(colorScheme, async (page, take) => {
    await choose(page, 'tomas.berg')
    await take('sign-in')
    await page.getByRole('main').getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('textbox', { name: 'Code' }).fill('123456')
    await page.locator('#phone .code').waitFor()
    await take('code')
    await page.getByRole('textbox', { name: 'Code' }).fill(demo.sandbox.totpCode('tomas.berg'))
    await page.getByRole('button', { name: 'Verify', exact: true }).click()
    await page.getByRole('table', { name: 'My groups' }).waitFor()
    await page.getByText('not signed in anywhere else').waitFor()
    await page.locator('#portal-title').focus()
    await take('my-access')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  })
  await visit(colorScheme, async (page, take) => {
    await choose(page, 'nina.number')
    await page.getByRole('main').getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('button', { name: 'Send the request' }).click()
    await page
      .getByRole('button', { name: /^\d\d$/ })
      .first()
      .waitFor()
    await take('push')
  })
}

async function visit(colorScheme, story) {
  const context = await browser.newContext({
    colorScheme,
    reducedMotion: 'reduce',
    viewport: { width: 1080, height: 720 },
    locale: 'en-GB',
  })
  const page = await context.newPage()
  await page.goto(demo.url)
  await story(page, async (name) => {
    const path = `${OUT}${name}-${colorScheme}.png`
    await page.evaluate('window.scrollTo(0, 0)')
    await page.screenshot({ path })
    const { size } = await stat(path)
    console.log(`${name}-${colorScheme}.png ${Math.round(size / 1000)} kB`)
    if (size > BIG_BYTES) throw new Error(`${path} is larger than ${BIG_BYTES} bytes`)
  })
  await context.close()
}

async function choose(page, name) {
  await page.getByRole('button', { name: `${name}@example.test` }).click()
  await page.locator('#phone .owner').waitFor()
}

function findChromium() {
  for (const name of ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']) {
    try {
      return execFileSync('/bin/sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim()
    } catch {
      // not installed under this name
    }
  }
  throw new Error('Chromium is not installed: run "npm run setup"')
}

async function freePort() {
  const server = createServer()
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address()
  await new Promise((resolve) => server.close(resolve))
  return port
}
