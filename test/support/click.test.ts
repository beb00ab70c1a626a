import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import type { Browser, Page } from 'playwright-core'
import { openChromium } from './chromium.ts'
import { click, clickOnce } from './click.ts'

let chromium: Browser
let page: Page
beforeAll(async () => {
  chromium = await openChromium()
  page = await chromium.newPage()
})
afterAll(() => chromium.close())

const go = () => page.getByRole('button', { name: 'Go' })
const clicks = () => page.evaluate('clicks')

beforeEach(async () => {
  await page.setContent('<div style="height: 2000px"></div><button>Go</button><div id="cover"></div>')
  await page.evaluate('clicks = 0; document.querySelector("button").onclick = () => { clicks += 1 }')
})

test.each([
  ['is disabled', 'document.querySelector("button").disabled = true', /disabled/],
  ['is marked as disabled', 'document.querySelector("button").ariaDisabled = "true"', /disabled/],
  ['is invisible', 'document.querySelector("button").style.visibility = "hidden"', /0 elements/],
  [
    'has no size',
    'document.querySelector("button").style.cssText = "all: unset; display: inline-block; width: 0; height: 0; overflow: hidden"',
    /invisible/,
  ],
  ['is covered', 'document.querySelector("#cover").style.cssText = "position: fixed; inset: 0"', /covered/],
  ['does not exist', 'document.querySelector("button").remove()', /0 elements/],
  ['is one of two', 'document.body.append(document.querySelector("button").cloneNode(true))', /2 elements/],
])('a button that %s is not clicked', async (_what, change, cause) => {
  await page.evaluate(change)
  await expect(clickOnce(go(), { timeoutMs: 1 })).rejects.toMatchObject({
    cause: { message: expect.stringMatching(cause) },
  })
  expect(await clicks()).toBe(0)
})

test('a button that is out of view and becomes enabled is clicked once and gets the focus', async () => {
  await page.evaluate(
    'document.querySelector("button").disabled = true; setTimeout(() => { document.querySelector("button").disabled = false }, 100)',
  )
  await clickOnce(go())
  expect([await clicks(), await page.evaluate('document.activeElement.innerText')]).toEqual([1, 'Go'])
})

test('a click on a link that moves while the mouse is pressed is repeated, and arrives once', async () => {
  await page.setContent('<a href="#">Back</a>')
  await page.evaluate(`
    window.clicks = 0
    const link = document.querySelector('a')
    link.addEventListener('mousedown', () => { link.style.cssText = 'position: absolute; top: 200px' }, { once: true })
    link.addEventListener('click', () => { clicks += 1 })`)
  await click(page.getByRole('link', { name: 'Back' }))
  expect(await page.evaluate('clicks')).toBe(1)
})

test.each([click, clickOnce])(
  'a $name that leads to another page is not made again there',
  async (clickEither) => {
    const on = (path: string) => ({ contentType: 'text/html', body: `<a href="${path}">On</a>` })
    await page.unrouteAll()
    await page.route('http://pages.test/first', (route) => route.fulfill(on('/second')))
    await page.route('http://pages.test/second', (route) => route.fulfill(on('/third')))
    await page.goto('http://pages.test/first')
    await clickEither(page.getByRole('link', { name: 'On' }))
    await page.waitForURL('http://pages.test/second')
  },
)
