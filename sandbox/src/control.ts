import { findApp, findSpInitiatedApp } from './authn/apps.ts'
import { signDuoResponse } from './authn/factors/duo-factor.ts'
import { hardwareTokenSecret, nextTotpCode } from './authn/factors/otp.ts'
import { nextFactorCode } from './authn/factors/otp-factors.ts'
import {
  createVirtualAuthenticator,
  type VirtualAuthenticator,
} from './authn/factors/virtual-authenticator.ts'
import { keySeed } from './authn/factors/webauthn-factor.ts'
import type { Org, SignIn } from './authn/org.ts'
import { beginStepUp, type StepUpStart } from './authn/step-up.ts'
import type { PushAnswer } from './authn/transaction.ts'
import type { User } from './authn/user.ts'
import { changeLifecycle, type LifecycleOperation, statusOf } from './authn/user-lifecycle.ts'
import type { Outbox } from './outbox.ts'

/**
 * The operations that tests and the demo use to inspect and change the sandbox. A login may be a
 * short name (the part before the `@`).
 */
export type AuthnControl = {
  /** The first API token of the configuration. */
  apiToken: string
  /** The first administrator's token of the configuration. */
  adminToken: string
  /** The valid API tokens. Delete one to simulate its revocation. */
  apiTokens: Set<string>
  settings: Org['settings']
  /** The emails, text messages and phone calls that the org sent, with codes and links. */
  outbox: Outbox
  /** Each primary authentication attempt, with its client context. */
  signIns: readonly SignIn[]
  /** The user's mutable record. Throws for an unknown login. */
  user(login: string): User
  users(): User[]
  /**
   * A code of the user's authenticator app or hardware token that is accepted for at least 30
   * seconds: the current code, or a later one if the current code is already used. Allows three
   * sign-ins in 30 seconds.
   */
  totpCode(login: string): string
  /** The current code of the enterprise or hardware token with this serial number. */
  tokenCode(credentialId: string): string
  hasPendingPush(login: string): boolean
  /** Answers all pending pushes of this user. Throws if there is none. */
  answerPush(login: string, answer: PushAnswer): void
  /**
   * The `sig_response` that Duo's frame returns when the user approves. Throws if no Duo request is
   * pending.
   */
  duoResponse(login: string): string
  /**
   * The user's security key, or the one with this `credentialId`. Throws if the user has no such
   * key. A user without one has a key that can be set up.
   */
  authenticator(login: string, credentialId?: string): VirtualAuthenticator
  /** A new activation token. */
  activationToken(login: string): string
  /** A new recovery token, as a recovery email contains it. */
  recoveryToken(login: string, recoveryType?: 'PASSWORD' | 'UNLOCK'): string
  /**
   * Changes the user as an administrator does, and sends the event. Resolves when the event hook
   * has answered. Rejects if the user's status does not allow it, and with `UndeliveredEvent` if
   * the user is changed but a receiver did not take the event.
   */
  changeLifecycle(login: string, operation: LifecycleOperation): Promise<void>
  /**
   * Starts an SP-initiated step-up, as an app does. With a login, the user already has a session at
   * the org.
   */
  startStepUp(app: string, login?: string, signInPage?: string): StepUpStart
  /** The last 200,000 state, session, recovery, activation and QR tokens that were issued. */
  tokensIssued(): string[]
  /** Expires all state tokens issued so far. */
  expireTransactions(): void
}

const KEY_TYPES: ReadonlySet<string> = new Set(['webauthn', 'u2f'])

/** The change itself is done. */
export class UndeliveredEvent extends Error {
  override readonly name = 'UndeliveredEvent'
}

export function createAuthnControl(org: Org): AuthnControl {
  function user(login: string): User {
    const found = org.users.findByUsername(login)
    if (found === undefined) throw new Error(`unknown user: ${login}`)
    return found
  }

  function pendingPushes(owner: User) {
    return org.transactions
      .all()
      .filter((transaction) => transaction.user === owner && transaction.factorResult === 'WAITING')
  }

  return {
    apiToken: org.config.apiTokens[0] ?? '',
    adminToken: org.config.adminTokens[0] ?? '',
    apiTokens: org.apiTokens,
    settings: org.settings,
    outbox: org.outbox,
    signIns: org.signIns,
    user,
    users: () => org.users.all(),
    totpCode(login) {
      const code = nextUserCode(org, user(login))
      if (code === undefined) throw new Error(`${login} has no factor with one-time codes`)
      return code
    },
    tokenCode: (credentialId) =>
      nextTotpCode({ secret: hardwareTokenSecret(credentialId), nowMs: org.now() }),
    hasPendingPush: (login) => pendingPushes(user(login)).length > 0,
    answerPush(login, answer) {
      const pushes = pendingPushes(user(login))
      if (pushes.length === 0) throw new Error(`${login} has no pending push`)
      for (const { challenge } of pushes) if (challenge !== undefined) challenge.pushAnswer = answer
    },
    duoResponse(login) {
      const pending = pendingPushes(user(login)).find(({ factor }) => factor?.factorType === 'web')
      const { factor, challenge } = pending ?? {}
      if (factor === undefined || challenge === undefined)
        throw new Error(`${login} has no pending Duo request`)
      return signDuoResponse({ factor, challenge })
    },
    authenticator(login, credentialId) {
      const owner = user(login)
      const keyOf = (seed: string) => createVirtualAuthenticator({ seed })
      const configuredKeys = owner.config.factors.filter(({ type }) => KEY_TYPES.has(type))
      const seeds = [...configuredKeys.map((factor) => keySeed(factor, owner)), owner.login]
      const key = seeds
        .map(keyOf)
        .find((candidate) => [undefined, candidate.credentialId].includes(credentialId))
      if (key === undefined) throw new Error(`${login} has no security key ${credentialId}`)
      return key
    },
    activationToken(login) {
      const token = org.tokens.issueShort()
      org.activations.put(token, user(login))
      return token
    },
    recoveryToken(login, recoveryType = 'PASSWORD') {
      const token = org.tokens.issueShort()
      org.recoveries.put(token, { user: user(login), recoveryType, relayState: undefined })
      return token
    },
    async changeLifecycle(login, operation) {
      const changed = user(login)
      const problems = await changeLifecycle(org, changed, operation)
      if (problems.length > 0)
        throw new UndeliveredEvent(
          `${operation}: ${changed.login} is ${statusOf(changed)}, but ${problems.join(', and ')}`,
        )
    },
    startStepUp(name, login, signInPage) {
      const app = signInPage === undefined ? findSpInitiatedApp(org, name) : findApp(org, name)
      return beginStepUp(org, {
        app,
        user: login === undefined ? undefined : user(login),
        client: {
          requestId: '',
          trusted: false,
          address: '127.0.0.1',
          ipChain: ['127.0.0.1'],
          zones: [],
          deviceToken: undefined,
          fingerprint: undefined,
          userAgent: undefined,
        },
        ...(signInPage === undefined ? {} : { signInPage }),
      })
    },
    tokensIssued: () => org.tokens.all(),
    expireTransactions: () => org.transactions.expireAll(),
  }
}

const OTP_FACTOR_TYPES: ReadonlySet<string> = new Set([
  'token:software:totp',
  'token',
  'token:hardware',
  'token:hotp',
])

/**
 * The next accepted code of the user's first OTP factor, or of the one being enrolled; undefined if
 * there is none.
 */
export function nextUserCode(org: Org, user: User): string | undefined {
  const enrolling = org.transactions.all().find((transaction) => transaction.user === user)?.factor
  const factor = [...user.factors, enrolling].find(
    (candidate) => candidate !== undefined && OTP_FACTOR_TYPES.has(candidate.factorType),
  )
  return factor && nextFactorCode(factor, org.now())
}
