import { setTimeout as pause } from 'node:timers/promises'
import type { LifecycleOperation } from '../authn/user-lifecycle.ts'
import type { Sandbox as SandboxServer } from '../sandbox.ts'
import type { Message, SandboxControl } from './sandbox-api.ts'

export interface Clock {
  now(): number
  advance(ms: number): void
  reset(): void
}

export function createClock(): Clock {
  let offsetMs = 0
  return {
    now: () => Date.now() + offsetMs,
    advance(ms) {
      if (!Number.isFinite(ms) || ms < 0) throw new Error('advanceTime: expected milliseconds, 0 or more')
      offsetMs += ms
    },
    reset() {
      offsetMs = 0
    },
  }
}

export interface SandboxControlOptions {
  readonly sandbox: SandboxServer
  readonly clock: Clock
  readonly reset: () => Promise<void>
}

export function createSandboxControl({ sandbox, clock, reset }: SandboxControlOptions): SandboxControl {
  const returned = new WeakSet<Message>()
  const messagesTo = (login: string) => {
    const user = sandbox.user(login)
    return sandbox.outbox.messages.filter((message) => message.login === user.login)
  }

  const change = (operation: LifecycleOperation) => (login: string) =>
    sandbox.changeLifecycle(login, operation)

  async function waitForPush(login: string, timeoutMs: number | undefined): Promise<void> {
    await waitFor(`a push to ${login}`, timeoutMs, () => sandbox.hasPendingPush(login) || undefined)
  }

  return {
    setFaults({ authn = [], pam = [], events = [] }) {
      sandbox.faults.authn.set(authn)
      sandbox.faults.pam.set(pam)
      sandbox.faults.events.set(events)
    },
    expireTransactions: sandbox.expireTransactions,
    advanceTime: clock.advance,
    async answerPush(login, answer, { timeoutMs } = {}) {
      await waitForPush(login, timeoutMs)
      // the push of an enrollment is not a request on the phone
      if (sandbox.phone.request(login) === undefined && typeof answer === 'string')
        sandbox.answerPush(login, answer)
      else sandbox.phone.answer(login, answer)
    },
    async pushNumbers(login, { timeoutMs } = {}) {
      await waitForPush(login, timeoutMs)
      return sandbox.phone.request(login)?.numbers ?? []
    },
    totpCode: sandbox.totpCode,
    securityKey(login, credentialId) {
      const key = sandbox.authenticator(login, credentialId)
      return {
        credentialId: key.credentialId,
        privateKey: key.privateKey(),
        sign: (challenge, { origin, rpId }) => key.signWebauthn(challenge, origin, rpId),
        register: (challenge, { origin, rpId }) => key.registerWebauthn(challenge, origin, rpId),
      }
    },
    async nextMessage(login, { kind, timeoutMs } = {}) {
      const message = await waitFor(`a message (${kind ?? 'of any kind'}) to ${login}`, timeoutMs, () =>
        messagesTo(login).find((one) => !returned.has(one) && (kind === undefined || one.kind === kind)),
      )
      returned.add(message)
      return message
    },
    messages: messagesTo,
    activationToken: sandbox.activationToken,
    suspend: change('suspend'),
    unsuspend: change('unsuspend'),
    deactivate: change('deactivate'),
    resetPassword: change('reset_password'),
    resetFactors: change('reset_factors'),
    clearSessions: change('clear_sessions'),
    eventHookCalls: () => sandbox.eventHook.calls,
    reset,
  }
}

const CHECK_EVERY_MS = 20

async function waitFor<Value>(what: string, timeoutMs = 5000, look: () => Value | undefined): Promise<Value> {
  const end = performance.now() + timeoutMs
  for (;;) {
    const found = look()
    if (found !== undefined) return found
    if (performance.now() >= end) throw new Error(`waited ${timeoutMs} ms for ${what}`)
    await pause(CHECK_EVERY_MS)
  }
}
