import { type Person, type Sandbox, type SandboxWithBroker, startSandbox } from 'gatehouse/sandbox'

const people: Person[] = [
  { login: 'ada', factors: ['totp', { type: 'push', answersAfterPolls: 1 }], groups: null },
]

export const withBroker: SandboxWithBroker = await startSandbox({ people, broker: true })
export const withOptions: SandboxWithBroker = await startSandbox({
  broker: { publicUrl: withBroker.brokerUrl },
})
export const alone: Sandbox = await startSandbox()

// @ts-expect-error there is no broker
alone.brokerUrl
// @ts-expect-error mistyped factor
await startSandbox({ people: [{ login: 'ada', factors: ['topt'] }] })
// @ts-expect-error mistyped option
await startSandbox({ peeple: people })
// @ts-expect-error mistyped fault
alone.control.setFaults({ authn: [{ kind: 'delayed', ms: 100 }] })
// @ts-expect-error a delay needs its duration
alone.control.setFaults({ authn: [{ kind: 'delay' }] })
alone.control.setFaults({
  pam: [{ kind: 'delay', ms: 100, path: '/v1' }],
  events: [{ kind: 'late', ms: 100 }],
})
