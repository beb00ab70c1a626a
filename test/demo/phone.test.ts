import { describe, expect, test } from '@jest/globals'
import type { Locator } from 'playwright-core'
import { clickOnce } from '../support/click.ts'
import { useDemo, type Visitor } from '../support/demo-page.ts'
import { until } from '../support/until.ts'

/** The demo's phone: it scans QR codes, shows codes and answers push requests for the chosen user. */
const demo = useDemo()

async function choose(login: string): Promise<{ visitor: Visitor; phone: Locator }> {
  const visitor = await demo.visit()
  await visitor.choose(login)
  await visitor.press('Sign in')
  return { visitor, phone: visitor.page.getByRole('region', { name: 'The phone' }) }
}

describe('enrolling with the phone', () => {
  test('the phone of another user refuses the QR code', async () => {
    const { visitor } = await choose('erin.enroll')
    await visitor.press('Authenticator app')
    const image = visitor.main.getByRole('img', { name: 'QR code to scan' })
    const src = (await image.getAttribute('src')) ?? ''
    const statuses = await visitor.page.evaluate<number[]>(`fetch(${JSON.stringify(src)})
      .then((picture) => picture.blob())
      .then((body) => Promise.all(['amelia.stone', 'nobody', 'erin.enroll'].map((login) =>
        fetch('/demo/phone/scan?login=' + login, { method: 'POST', body }).then(({ status }) => status))))`)
    expect(statuses).toEqual([400, 400, 204])
  })

  test('a hardware token: the phone shows the serial number and the code of a spare token', async () => {
    const { visitor, phone } = await choose('erin.enroll')
    await visitor.press('Hardware token')
    const spare = phone.getByRole('group', { name: /^Spare token, serial number/ })
    const serial = /serial number (\S+)/.exec(await spare.innerText())?.[1] ?? ''
    await visitor.type('Serial number', serial)
    await visitor.type('Code', await spare.locator('.code').innerText())
    await clickOnce(visitor.main.getByRole('button', { name: 'Continue' }))
    await visitor.main.getByText('Set up: Hardware token').waitFor()
  })
})

describe('number matching', () => {
  async function asked() {
    const { visitor, phone } = await choose('nina.number')
    await visitor.press('Send the request')
    await visitor.screen('Look at your phone')
    expect(await visitor.main.innerText()).not.toMatch(/another way/)
    const right = await visitor.main.getByText(/^\d\d$/).innerText()
    const numbers = phone.getByRole('button', { name: /^\d\d$/ })
    await numbers.first().waitFor()
    return { visitor, right, numbers }
  }

  test('cannot be bypassed by an approval without a number or with a number that was not shown', async () => {
    const { visitor } = await asked()
    const answer = (answer: unknown) =>
      visitor.page.evaluate<number>(
        `fetch('/demo/phone/answer', { method: 'POST', headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ login: 'nina.number', answer: ${JSON.stringify(answer)} }) }).then(({ status }) => status)`,
      )
    expect([await answer('approve'), await answer(100), await answer('yes')]).toEqual([400, 400, 400])
    expect(demo.sandbox.phone.request('nina.number')).toBeDefined()
  })
})

test('the phone belongs to the user whose login, full or short, is typed', async () => {
  const visitor = await demo.visit()
  await visitor.signIn('sana.sms')
  await visitor.press('Send the code')
  const phone = visitor.page.getByRole('region', { name: 'The phone' })
  await phone.getByText('sana.sms@example.test').waitFor()
  await phone.getByText(/code is \d+/).waitFor()
  await until(() => visitor.page.getByRole('button', { name: 'sana.sms', pressed: true }).isVisible())
})
