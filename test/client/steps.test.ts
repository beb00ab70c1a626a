import { afterEach, expect, test } from '@jest/globals'
import { createGatehouse, type Factor } from 'gatehouse-client'
import { type Harness, startHarness } from '../support/harness.ts'
import { navigate } from '../support/navigate.ts'
import { factorOf, openNodeClient, signIn, stepAt } from '../support/node-client.ts'
import { onClassicEngine } from '../support/on-classic-engine.ts'
import { ORIGIN, scriptBroker, WAITING } from '../support/scripted-broker.ts'
import { checkSteps, type StepsMet } from '../support/step-members.ts'

/** Steps that no journey of the sandbox's users has: hidden factors, unknown statuses, and lists with another name. */

let harness: Harness | undefined
afterEach(async () => {
  await harness?.stop()
  harness = undefined
})

function client(...bodies: readonly object[]) {
  const broker = scriptBroker()
  const met: StepsMet = new Map()
  broker.answer(...bodies.map((body) => ({ body })))
  const gatehouse = checkSteps(createGatehouse({ baseUrl: ORIGIN, fetch: broker.fetch }), met)
  return { broker, met, begin: () => gatehouse.signIn({ stateToken: 'an-example-handle' }) }
}
const link = (path: string, name?: string) => ({ href: ORIGIN + path, ...(name && { name }) })

test('an unknown status has only what its links offer', async () => {
  const { _links, stateToken } = WAITING
  const { broker, met, begin } = client({ status: 'TERMS_OF_USE', stateToken, _links }, {})
  const step = await begin()
  expect([step.status, [...(met.get('unknown') ?? [])].sort()]).toEqual([
    'TERMS_OF_USE',
    ['answer', 'cancel', 'previous', 'stateToken', 'status'],
  ])
  await step.cancel()
  expect(broker.requests.at(-1)?.slice(1)).toEqual(['POST', '/api/v1/authn/cancel'])
})

test.each(['constructor', 'toString', '__proto__'])('the status %s is an unknown one', async (status) => {
  const step = await client({ status, stateToken: 'an-example-handle' }).begin()
  expect(Object.keys(step).sort()).toEqual(['answer', 'cancel', 'stateToken', 'status'])
})

test('cancel sends nothing if there is nothing to end', async () => {
  const { broker, begin } = client({ status: 'SUCCESS' })
  await (await begin()).cancel()
  expect(broker.requests).toHaveLength(1)
})

test('a list of factors with the name `factor` is the same list', async () => {
  const factor = { id: 'f1', factorType: 'push', provider: 'OKTA', _links: { verify: link('/verify') } }
  const required = {
    ...WAITING,
    status: 'MFA_REQUIRED',
    _embedded: { factor: [factor, { ...factor, id: 'f2' }] },
  }
  const { broker, begin } = client(required, WAITING)
  const { factors, verify } = stepAt(await begin(), 'MFA_REQUIRED')
  expect(factors.map(({ id }) => id)).toEqual(['f1', 'f2'])
  await verify(factorOf<Factor>(factors, 'push'))
  expect(broker.requests.at(-1)?.[2]).toBe('/verify')
})

test('options with a value, false included, are added to the query of a link', async () => {
  const factor = { id: 'f1', factorType: 'push', provider: 'OKTA', _links: { verify: link('/verify?a=b') } }
  const required = { ...WAITING, status: 'MFA_REQUIRED', _embedded: { factors: [factor] } }
  const { broker, begin } = client(required, WAITING)
  const { factors, verify } = stepAt(await begin(), 'MFA_REQUIRED')
  const options = { rememberDevice: false, autoPush: undefined } as object
  await verify(factorOf<Factor>(factors, 'push'), undefined, options)
  expect(broker.requests.at(-1)?.[2]).toBe('/verify?a=b&rememberDevice=false')
})

test('the options of a challenge apply to its proof, and not to the next challenge', async () => {
  const factor = { id: 'f1', factorType: 'sms', provider: 'OKTA', _links: { verify: link('/begin') } }
  const required = { ...WAITING, status: 'MFA_REQUIRED', _embedded: { factors: [factor] } }
  const challenge = { ...WAITING, _embedded: { factor }, _links: { next: link('/verify', 'verify') } }
  const { broker, begin } = client(required, challenge, required, challenge)
  const first = stepAt(await begin(), 'MFA_REQUIRED')
  const sms = factorOf<Factor>(first.factors, 'sms')
  const begun = await first.verify(sms, undefined, { rememberDevice: true })
  const second = stepAt(
    await stepAt(begun, 'MFA_CHALLENGE', 'verify').verify({ passCode: '1' }),
    'MFA_REQUIRED',
  )
  expect(broker.requests.at(-1)?.[2]).toBe('/verify?rememberDevice=true')
  const again = await second.verify(factorOf<Factor>(second.factors, 'sms'))
  await stepAt(again, 'MFA_CHALLENGE', 'verify').verify({ passCode: '1' })
  expect(broker.requests.slice(-2).map(([, , path]) => path)).toEqual(['/begin', '/verify'])
})

test('a factor that the operator hides leaves previous and cancel', async () => {
  harness = await startHarness({ env: { HIDDEN_FACTORS: 'push', STEP_UP: 'on' } })
  const own = await openNodeClient(harness)
  const required = stepAt(await signIn(own, 'nina.number'), 'MFA_REQUIRED')
  expect(required.factors).toEqual([])

  const { sandbox, authnUrl, gatehouse } = onClassicEngine(harness)
  const { stateToken } = sandbox.startStepUp('payroll', 'nina.number')
  const atOkta = (path: string) =>
    fetch(authnUrl + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ stateToken }),
    })
  await atOkta('/api/v1/authn')
  await atOkta(`/api/v1/authn/factors/${sandbox.user('nina.number').factors[0]?.id}/verify`)
  const met: StepsMet = new Map()
  const client = await openNodeClient(harness, met)
  const { location } = await navigate(
    client.browser,
    `${gatehouse.url}/signin/step-up?stateToken=${stateToken}`,
  )
  const handle = new URL(location ?? '').searchParams.get('stateToken') ?? ''
  const step = stepAt(await client.gatehouse.signIn({ stateToken: handle }), 'MFA_CHALLENGE')
  expect([step.next, step.factor, 'verify' in step, 'poll' in step]).toEqual([
    undefined,
    undefined,
    false,
    false,
  ])
  expect((await step.previous?.())?.status).toBe('MFA_REQUIRED')
})
