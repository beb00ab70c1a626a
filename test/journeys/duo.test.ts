import { describe, expect, test } from '@jest/globals'
import type { PageAnswer } from '../support/browser.ts'
import { useHarness } from '../support/harness.ts'
import { openPage, type PortalPage } from '../support/portal-page.ts'
import { hrefAt, valueAt } from '../support/transaction-view.ts'

const DARIO = 'dario.duo@example.test'
const DINA = 'dina.duo@example.test'

const harness = useHarness()

const VERIFICATION = '_embedded.factor._embedded.verification'
const ACTIVATION = '_embedded.factor._embedded.activation'
/** Sends the poll; the broker paces polls itself. */
const poll = (page: PortalPage, query = '') => page.follow('_links.next', {}, { query })

/** A page that waits for an approval in Duo's frame. */
async function startDuo(login: string): Promise<PortalPage> {
  const page = await openPage(harness)
  await page.signIn(login)
  if (page.held.json.status === 'MFA_ENROLL')
    await page.follow('_embedded.factors.0._links.enroll', { factorType: 'web', provider: 'DUO' })
  else await page.verify('web')
  expect(page.held.json.factorResult).toBe('WAITING')
  const frame = valueAt(page.held.json, '_embedded.factor._embedded')
  expect(Object.values(Object(frame))).toEqual([
    {
      host: 'api-sandbox.duosecurity.example',
      signature: expect.stringMatching(/^TX\|[\w+/=]+\|[\w+/=]+:APP\|[\w+/=]+\|[\w+/=]+$/),
      factorResult: 'WAITING',
      _links: {
        complete: { href: expect.stringMatching(/\/lifecycle\/duoCallback$/), hints: { allow: ['POST'] } },
        script: {
          href: `${harness.authnUrl}/js/sections/duo/Duo-Web-v2.js`,
          type: 'text/javascript; charset=utf-8',
        },
      },
    },
  ])
  return page
}

/** The form that the sign-in widget posts after Duo's frame has signed. */
function complete(page: PortalPage, frame: string, login: string): Promise<PageAnswer> {
  const id = String(valueAt(page.held.json, '_embedded.factor.id'))
  const form = { id, stateToken: page.stateToken, sig_response: harness.sandbox.duoResponse(login) }
  return page.browser.post(hrefAt(page.held, `${frame}._links.complete`), undefined, { form })
}

describe('Duo', () => {
  // sandbox shows: F-1.7, F-1.11, F-1.12, F-1.13, F-1.18
  test('neither waiting nor the form opens a session; the poll after the form does', async () => {
    const page = await startDuo(DARIO)
    expect((await poll(page)).json.factorResult).toBe('WAITING')
    const submitted = await complete(page, VERIFICATION, DARIO)
    expect([submitted.status, submitted.text, submitted.setCookies]).toEqual([200, '{}', []])
    expect(await page.session()).toBeUndefined()
    await poll(page, '?rememberDevice=true')
    expect(page.held.json.status).toBe('SUCCESS')
    expect(await page.session()).toMatchObject({ login: DARIO, amr: ['pwd', 'mfa'] })
  })

  test('enrollment works the same way: audited after the poll, and required at the next sign-in', async () => {
    const enrolled = () =>
      harness.gatehouse
        .logLines()
        .filter(({ event }) => event === 'factor_enrolled' || event === 'factor_changed')
    const page = await startDuo(DINA)
    expect(page.held.json.status).toBe('MFA_ENROLL_ACTIVATE')
    expect((await complete(page, ACTIVATION, DINA)).status).toBe(200)
    expect(enrolled()).toEqual([])
    await poll(page)
    expect(page.held.json.status).toBe('SUCCESS')
    expect(enrolled()).toMatchObject([{ event: 'factor_enrolled', factorType: 'web', provider: 'DUO' }])
    expect(await page.session()).toMatchObject({ login: DINA })
    await startDuo(DINA)
  })
})
