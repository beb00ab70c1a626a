import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Browser } from 'playwright-core'
import { openChromium } from './chromium.ts'
import { click } from './click.ts'

let chromium: Browser
beforeAll(async () => {
  chromium = await openChromium()
})
afterAll(() => chromium.close())

test('a click on a link that moves away while the mouse is pressed is made again, and arrives once', async () => {
  const page = await chromium.newPage()
  await page.setContent('<a href="#">Back</a>')
  await page.evaluate(`
    window.clicks = 0
    const link = document.querySelector('a')
    link.addEventListener('mousedown', () => { link.style.cssText = 'position: absolute; top: 200px' }, { once: true })
    link.addEventListener('click', () => { clicks += 1 })`)
  await click(page.getByRole('link', { name: 'Back' }))
  expect(await page.evaluate('clicks')).toBe(1)
})

test('a click that leads to another page is not made again there', async () => {
  const page = await chromium.newPage()
  const on = (path: string) => ({ contentType: 'text/html', body: `<a href="${path}">On</a>` })
  await page.route('http://pages.test/first', (route) => route.fulfill(on('/second')))
  await page.route('http://pages.test/second', (route) => route.fulfill(on('/third')))
  await page.goto('http://pages.test/first')
  await click(page.getByRole('link', { name: 'On' }))
  await page.waitForURL('http://pages.test/second')
})
