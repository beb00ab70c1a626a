import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { PassThrough } from 'node:stream'
import { expect } from '@jest/globals'
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core'
import { type Demo, startDemo } from '../../src/demo/demo.ts'
import type { Sandbox } from '../../src/sandbox/sandbox.ts'
import { defaultConfigPath } from '../../src/sandbox/sandbox-config.ts'
import { openChromium } from './chromium.ts'
import { click } from './click.ts'
import { freePort } from './gatehouse.ts'

/** The demo as people meet it: the page as it was built, in a real browser, the sandbox behind it. */
export interface DemoHarness {
  readonly demo: Demo
  readonly sandbox: Sandbox
  readonly chromium: Browser
  /** A browser with nobody's cookies and no session. */
  visit(options?: VisitOptions): Promise<Visitor>
  /** Every user as in the configuration, every browser empty again. Fails when a page had an error of its own. */
  tidy(): Promise<void>
  stop(): Promise<void>
}

export interface VisitOptions {
  readonly path?: string
  /** A browser that was never here and is closed afterwards, for a test that changes the browser itself (its clock). */
  readonly isNew?: boolean
}

export interface Visitor {
  readonly page: Page
  readonly context: BrowserContext
  /** Fills the first screen in and sends it. */
  signIn(login: string, password?: string): Promise<void>
  type(label: string | RegExp, text: string): Promise<void>
  press(button: string | RegExp): Promise<void>
  /** Waits for the screen with this title. */
  screen(title: string | RegExp): Promise<void>
  /** Waits for an alert with these words. */
  alert(words: RegExp): Promise<void>
  main: Locator
}

export const PASSWORD = 'Demo-Password-1'
export const NEW_PASSWORD = 'Another-Password-2'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const PHONE_WIDTH = 320

export async function openDemo(): Promise<DemoHarness> {
  const logStream = new PassThrough().resume()
  const demo = await startDemo({ port: await freePort(), sandboxConfigPath: defaultConfigPath, logStream })
  const chromium = await openChromium()
  const complaints: string[] = []
  // A page that has been here before costs a quarter of a new one
  const free: Page[] = []
  const used: Page[] = []

  async function openPage(): Promise<Page> {
    const context = await chromium.newContext({ reducedMotion: 'reduce' })
    context.setDefaultTimeout(60_000)
    const page = await context.newPage()
    page.on('pageerror', (error) => complaints.push(error.message))
    page.on('console', (message) => {
      if (/Content Security Policy|Refused to/.test(message.text())) complaints.push(message.text())
    })
    return page
  }

  return {
    demo,
    sandbox: demo.sandbox,
    chromium,
    async visit({ path = '/', isNew = false } = {}) {
      const page = (isNew ? undefined : free.pop()) ?? (await openPage())
      if (!isNew) used.push(page)
      await page.goto(demo.url + path)
      return visitorOf(page, page.context())
    },
    async tidy() {
      const kept = used.splice(0)
      for (const page of kept) await leave(page)
      free.push(...kept)
      const pages = chromium.contexts().flatMap((context) => context.pages())
      for (const page of pages) if (!free.includes(page)) await page.close()
      for (const context of chromium.contexts()) if (context.pages().length === 0) await context.close()
      demo.sandbox.reset()
      expect(complaints.splice(0)).toEqual([])
    },
    async stop() {
      await chromium.close()
      await demo.stop()
    },
  }
}

/** Nothing stays that the next visitor could meet. */
async function leave(page: Page): Promise<void> {
  await page.unrouteAll()
  await page.evaluate('localStorage.clear(); sessionStorage.clear()')
  await page.goto('about:blank')
  await page.context().clearCookies()
}

/**
 * The screen as it is now has no accessibility fault, in light and in dark, and fits a narrow phone without
 * scrolling sideways.
 */
export async function expectGoodScreen(page: Page): Promise<void> {
  const before = page.viewportSize()
  await page.emulateMedia({ colorScheme: 'dark' })
  expect(await faultsOf(page, COLOUR_RULES)).toEqual([])
  await page.emulateMedia({ colorScheme: 'light' })
  expect(await faultsOf(page)).toEqual([])
  await page.setViewportSize({ width: PHONE_WIDTH, height: 640 })
  const widths = '[document.documentElement.scrollWidth, window.innerWidth]'
  const [needed = 0, there = 0] = await page.evaluate<number[]>(widths)
  expect(needed).toBeLessThanOrEqual(there)
  if (before !== null) await page.setViewportSize(before)
}

export function hasFocus(element: Locator): Promise<boolean> {
  return element.evaluate((found) => found.matches(':focus'))
}

/** All that the colour scheme can change. */
export const COLOUR_RULES = ['color-contrast', 'link-in-text-block']

/** What axe-core finds, in a form that can be read: rule and place. By all of its rules, or by these. */
export async function faultsOf(page: Page, rules?: readonly string[]): Promise<string[]> {
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(AXE)
  const options = {
    resultTypes: ['violations'],
    ...(rules === undefined ? {} : { runOnly: { type: 'rule', values: rules } }),
  }
  return page.evaluate<string[]>(`axe.run(document, ${JSON.stringify(options)}).then(({ violations }) =>
    violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => id + ' at ' + target + ': ' + failureSummary)))`)
}

function visitorOf(page: Page, context: BrowserContext): Visitor {
  const main = page.getByRole('main')
  const visitor: Visitor = {
    page,
    context,
    main,
    async signIn(login, password = PASSWORD) {
      await visitor.screen('Sign in')
      await visitor.type('User name', login)
      await visitor.type('Password', password)
      await click(main.getByRole('button', { name: 'Sign in', exact: true }))
    },
    type: (label, text) => main.getByLabel(label).fill(text),
    press: (button) => click(main.getByRole('button', { name: button, exact: typeof button === 'string' })),
    screen: (title) =>
      main
        .getByRole('heading', {
          level: 2,
          name: title,
          ...(typeof title === 'string' ? { exact: true } : {}),
        })
        .waitFor(),
    alert: (words) => main.getByRole('alert').filter({ hasText: words }).waitFor(),
  }
  return visitor
}
