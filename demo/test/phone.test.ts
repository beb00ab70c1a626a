import { describe, expect, test } from '@jest/globals'
import { clickOnce } from 'gatehouse-test-support/click'
import { useDemo, type Visitor } from 'gatehouse-test-support/demo-page'
import { until } from 'gatehouse-test-support/until'
import type { Locator } from 'playwright-core'

/**
 * The demo's phone: it scans QR codes, shows codes and answers push requests for the chosen user.
 */
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

test('the phone belongs to the user whose login, full or short, is typed', async () => {
  const visitor = await demo.visit()
  await visitor.signIn('sana.sms')
  await visitor.press('Send the code')
  const phone = visitor.page.getByRole('region', { name: 'The phone' })
  await phone.getByText('sana.sms@example.test').waitFor()
  await phone.getByText(/code is \d+/).waitFor()
  await until(() => visitor.page.getByRole('button', { name: 'sana.sms', pressed: true }).isVisible())
})
