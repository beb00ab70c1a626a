import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { PassThrough } from 'node:stream'
import { afterEach, expect } from '@jest/globals'
import { type Demo, type DemoOptions, startDemo } from 'gatehouse-demo/demo'
import type { Sandbox } from 'gatehouse-sandbox/sandbox'
import { defaultConfigPath } from 'gatehouse-sandbox/sandbox-config'
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core'
import { openChromium } from './chromium.ts'
import { clickOnce } from './click.ts'
import { useFixture } from './fixture.ts'
import { freePort } from './gatehouse.ts'

/** The built demo in a real browser, with the sandbox. */
export interface DemoHarness {
  readonly demo: Demo
  readonly sandbox: Sandbox
  readonly chromium: Browser
  /** A browser without cookies or a session. */
  visit(options?: VisitOptions): Promise<Visitor>
  /** Restores all users and clears every browser. Fails if a page logged an error. */
  tidy(): Promise<void>
  stop(): Promise<void>
}

export interface VisitOptions {
  readonly path?: string
  /**
   * Opens a new browser and closes it afterwards, for a test that changes the browser itself, such
   * as its security keys.
   */
  readonly isNew?: boolean
  /** The browser's language. Opens a new browser. Default: en-US. */
  readonly locale?: string
}

export interface Visitor {
  readonly page: Page
  readonly context: BrowserContext
  /** Chooses a user in the list: this fills in the first screen and selects the user's phone. */
  choose(login: string): Promise<void>
  /** Fills in the first screen and submits it. */
  signIn(login: string, password?: string): Promise<void>
  type(label: string | RegExp, text: string): Promise<void>
  press(button: string | RegExp): Promise<void>
  /** Waits for the screen with this title. */
  screen(title: string | RegExp): Promise<void>
  /** Waits for an error with this text. */
  alert(words: RegExp): Promise<void>
  /** Waits for a message that is no error. */
  notice(words: RegExp): Promise<void>
  main: Locator
}

export const PASSWORD = 'Demo-Password-1'
export const NEW_PASSWORD = 'Another-Password-2'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const PHONE_WIDTH = 320

/**
 * One demo for all tests of a file, tidied after each test. @param options of the broker, such as
 * its clock
 */
export function useDemo(options: Pick<DemoOptions, 'now'> = {}): DemoHarness {
  const demo = useFixture({ start: () => openDemo(options), stop: ({ stop }) => stop() })
  afterEach(() => demo.tidy())
  return demo
}

async function openDemo(options: Pick<DemoOptions, 'now'>): Promise<DemoHarness> {
  const logStream = new PassThrough().resume()
  const parts = { port: await freePort(), sandboxConfigPath: defaultConfigPath }
  const demo = await startDemo({ ...parts, logStream, ...options })
  const chromium = await openChromium()
  const problems: string[] = []
  /** A page is used again: it has its scripts and styles already. */
  const free: Page[] = []
  const used: Page[] = []

  async function openPage(locale = 'en-US'): Promise<Page> {
    const context = await chromium.newContext({ reducedMotion: 'reduce', locale })
    context.setDefaultTimeout(60_000)
    const page = await context.newPage()
    page.on('pageerror', (error) => problems.push(error.message))
    page.on('console', (message) => {
      if (/Content Security Policy|Refused to/.test(message.text())) problems.push(message.text())
    })
    return page
  }

  return {
    demo,
    sandbox: demo.sandbox,
    chromium,
    async visit({ path = '/', locale, isNew = locale !== undefined } = {}) {
      const page = (isNew ? undefined : free.pop()) ?? (await openPage(locale))
      if (!isNew) used.push(page)
      await page.goto(demo.url + path)
      return visitorOf(page, page.context())
    },
    async tidy() {
      const kept = used.splice(0)
      free.push(...kept)
      const pages = chromium.contexts().flatMap((context) => context.pages())
      for (const page of pages) if (!free.includes(page)) await page.close()
      for (const page of kept) await leave(page, demo.url)
      for (const context of chromium.contexts()) if (context.pages().length === 0) await context.close()
      demo.sandbox.reset()
      expect(problems.splice(0)).toEqual([])
    },
    async stop() {
      await chromium.close()
      await demo.stop()
    },
  }
}

/**
 * Leaves nothing for the next test. The page goes to a picture of the same site: for `about:blank`,
 * which has no `Cross-Origin-Opener-Policy`, Chromium starts another process, and one more for the
 * page after it.
 */
async function leave(page: Page, demoUrl: string): Promise<void> {
  await page.unrouteAll()
  await page.evaluate('localStorage.clear(); sessionStorage.clear()')
  await page.goto(`${demoUrl}/icon.svg`)
  await page.context().clearCookies()
}

/** The list of users. */
const USERS = '#people'

/**
 * Screens that this file has already scanned. Screens that differ only in text are scanned once.
 */
const seen = new Set<string>()

/**
 * The elements of the screen and the phone with their attributes. Texts count only by their
 * presence, numbers not at all.
 */
const KIND_OF_SCREEN = `[...document.querySelectorAll('main, #phone')].map((part) =>
  part.outerHTML.replace(/>[^<>]*[^<>\\s][^<>]*</g, '>text<').replace(/(src|href)="[^"]*"/g, '$1').replace(/\\d+/g, '0')).join()`

/**
 * Expects that the current screen has no accessibility fault, in light and in dark, and fits a
 * narrow phone without horizontal scrolling. The list of users is scanned only by its own tests.
 */
export async function expectGoodScreen(page: Page, { exclude = [USERS] }: ScanOptions = {}): Promise<void> {
  const kind = `${await page.evaluate<string>(KIND_OF_SCREEN)} without ${exclude}`
  if (seen.has(kind)) return
  seen.add(kind)
  const before = page.viewportSize()
  await page.emulateMedia({ colorScheme: 'dark' })
  expect(await faultsOf(page, { rules: COLOUR_RULES, exclude })).toEqual([])
  await page.emulateMedia({ colorScheme: 'light' })
  expect(await faultsOf(page, { exclude })).toEqual([])
  await page.setViewportSize({ width: PHONE_WIDTH, height: 640 })
  const widths = '[document.documentElement.scrollWidth, window.innerWidth]'
  const [needed = 0, there = 0] = await page.evaluate<number[]>(widths)
  expect(needed).toBeLessThanOrEqual(there)
  if (before !== null) await page.setViewportSize(before)
}

export function hasFocus(element: Locator): Promise<boolean> {
  return element.evaluate((found) => found.matches(':focus'))
}

/** The rules whose result depends on the colour scheme. */
export const COLOUR_RULES = ['color-contrast', 'link-in-text-block']

export interface ScanOptions {
  /** Default: all rules. */
  readonly rules?: readonly string[]
  /** Selectors of elements that are not scanned. Rules about the whole page still apply. */
  readonly exclude?: readonly string[]
}

/** axe-core's findings as `rule: element`. */
export async function faultsOf(page: Page, { rules, exclude = [] }: ScanOptions = {}): Promise<string[]> {
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(AXE)
  const options = {
    resultTypes: ['violations'],
    ...(rules === undefined ? {} : { runOnly: { type: 'rule', values: rules } }),
  }
  // removed during the scan: axe-core also visits excluded elements
  return page.evaluate<string[]>(`(async () => {
    const excluded = [...document.querySelectorAll(${JSON.stringify(exclude.join() || ':not(*)')})].map((element) => [element, new Comment()])
    for (const [element, place] of excluded) element.replaceWith(place)
    const { violations } = await axe.run(document, ${JSON.stringify(options)})
    for (const [element, place] of excluded) place.replaceWith(element)
    return violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => id + ' at ' + target + ': ' + failureSummary))
  })()`)
}

function visitorOf(page: Page, context: BrowserContext): Visitor {
  const main = page.getByRole('main')
  const visitor: Visitor = {
    page,
    context,
    main,
    async choose(login) {
      const name = `${login}@example.test`
      await clickOnce(page.getByRole('button', { name }))
      await page.locator('#phone').getByText(name).first().waitFor()
    },
    async signIn(login, password = PASSWORD) {
      await visitor.screen('Sign in')
      await visitor.type('Username', login)
      await visitor.type('Password', password)
      await clickOnce(main.getByRole('button', { name: 'Sign in', exact: true }))
    },
    type: (label, text) => main.getByLabel(label).fill(text),
    press: (button) =>
      clickOnce(main.getByRole('button', { name: button, exact: typeof button === 'string' })),
    screen: (title) =>
      main
        .getByRole('heading', {
          level: 1,
          name: title,
          ...(typeof title === 'string' ? { exact: true } : {}),
        })
        .waitFor(),
    alert: (words) => main.getByRole('alert').filter({ hasText: words }).waitFor(),
    notice: (words) => main.getByRole('status').filter({ hasText: words }).waitFor(),
  }
  return visitor
}
