import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { openBrowser } from '../support/browser.ts'
import type { Gatehouse } from '../support/gatehouse.ts'
import { type StubHarness, startStubHarness } from '../support/harness.ts'
import type { StubUpstream } from '../support/stub-upstream.ts'

/**
 * Unknown statuses, factor types and links are counted by name, so that a portal team sees what its page may not
 * support.
 */
let harness: StubHarness
let stub: StubUpstream
let gatehouse: Gatehouse
beforeEach(async () => {
  harness = await startStubHarness()
  ;({ stub, gatehouse } = harness)
})
afterEach(() => harness.stop())

async function signIn(body: object) {
  stub.answers({ stateToken: '00stateToken_of-the-upstream_0123456789abc', ...body })
  const browser = openBrowser(gatehouse.url)
  browser.allowAnyTransaction()
  const answer = await browser.post('/api/v1/authn', { username: 'a', password: 'b' })
  expect(answer.status).toBe(200)
  return answer
}
const counters = async () =>
  (await gatehouse.metrics()).split('\n').filter((line) => line.startsWith('gatehouse_unknown_steps_total{'))
const logged = () =>
  gatehouse
    .logLines()
    .filter(({ event }) => event === 'unknown_step')
    .map(({ level, reason, name }) => [level, reason, name])

test('a known response counts nothing', async () => {
  await signIn({
    status: 'MFA_REQUIRED',
    _embedded: { factors: [{ id: 'f', factorType: 'webauthn', _links: { verify: {} } }] },
    _links: { cancel: {}, prev: {}, next: {}, resend: [{ name: 'sms' }] },
  })
  expect(await counters()).toEqual([])
  expect(logged()).toEqual([])
})

test('unknown statuses, factor types and links are counted each time by name, and logged once', async () => {
  const link = { href: `${stub.origin}/api/v1/authn/levitate`, hints: { allow: ['POST'] } }
  for (let time = 0; time < 2; time += 1) {
    const answer = await signIn({
      status: 'LEVITATING',
      _embedded: {
        factors: [{ id: 'f1', factorType: 'token:mind', _links: { bend: link } }],
        factorTypes: [{ factorType: 'smell' }],
      },
      _links: { levitate: [link], cancel: link },
    })
    expect(answer.json).toMatchObject({
      status: 'LEVITATING',
      _links: { levitate: [{ ...link, href: `${gatehouse.url}/api/v1/authn/levitate` }] },
    })
  }
  expect((await counters()).sort()).toEqual([
    'gatehouse_unknown_steps_total{kind="factor",name="smell"} 2',
    'gatehouse_unknown_steps_total{kind="factor",name="token:mind"} 2',
    'gatehouse_unknown_steps_total{kind="link",name="bend"} 2',
    'gatehouse_unknown_steps_total{kind="link",name="levitate"} 2',
    'gatehouse_unknown_steps_total{kind="status",name="LEVITATING"} 2',
  ])
  expect(logged().sort()).toEqual([
    ['warn', 'factor', 'smell'],
    ['warn', 'factor', 'token:mind'],
    ['warn', 'link', 'bend'],
    ['warn', 'link', 'levitate'],
    ['warn', 'status', 'LEVITATING'],
  ])
})

test('fifty names have their own counter; further names are counted together and not logged', async () => {
  const links = Object.fromEntries(Array.from({ length: 70 }, (_, at) => [`odd-${at}`, {}]))
  await signIn({ status: 'MFA_REQUIRED', _links: links })
  const lines = await counters()
  expect(lines).toHaveLength(51)
  expect(lines).toContain('gatehouse_unknown_steps_total{kind="link",name="other"} 20')
  expect(logged()).toHaveLength(50)
})

test('a name that could break a log line or a metric is not written', async () => {
  await signIn({
    status: 'X"}\n injected 1',
    _embedded: { factors: [{ factorType: 'x'.repeat(65) }] },
    _links: { 'a b': {}, é: {} },
  })
  expect((await counters()).sort()).toEqual([
    'gatehouse_unknown_steps_total{kind="factor",name="unprintable"} 1',
    'gatehouse_unknown_steps_total{kind="link",name="unprintable"} 2',
    'gatehouse_unknown_steps_total{kind="status",name="unprintable"} 1',
  ])
  expect(gatehouse.logText()).not.toContain('injected')
})
