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
import type { Outbox } from './outbox.ts'

/** What a test or a demo can look at and do, beside calling the API. Logins may be short names. */
export type AuthnControl = {
  /** A valid API token, the first of the configuration. */
  apiToken: string
  /** The valid API tokens. Deleting one is how an org takes it back. */
  apiTokens: Set<string>
  /** `factorListName: 'factor'` is the form of the written specification. */
  settings: Org['settings']
  /** Mails, text messages and calls that were "sent", with codes and links. */
  outbox: Outbox
  /** Each primary authentication and the client as the sandbox saw it. */
  signIns: readonly SignIn[]
  /** The live record of a user; throws for an unknown one. */
  user(login: string): User
  users(): User[]
  /**
   * A code that the user's authenticator app (or hardware token) shows and that will be accepted, for at least
   * 30 seconds: the current one, or a later one when that was used already. Up to three sign-ins in 30 seconds.
   */
  totpCode(login: string): string
  /** The code of the enterprise or hardware token with this serial number. */
  tokenCode(credentialId: string): string
  hasPendingPush(login: string): boolean
  /** Answers every push that waits for this user; throws when none does. */
  answerPush(login: string, answer: PushAnswer): void
  /** What Duo's frame gives the page once this user has approved there: `sig_response`; throws when no Duo waits. */
  duoResponse(login: string): string
  /** The user's security key; with `credentialId`, the one of that id. Throws when the user has none of it. */
  authenticator(login: string, credentialId?: string): VirtualAuthenticator
  /** A valid activation token for this user, for one use. */
  activationToken(login: string): string
  /** A valid recovery token, as a mail brings it, for one use. */
  recoveryToken(login: string, recoveryType?: 'PASSWORD' | 'UNLOCK'): string
  /** What an app does that sends the browser to its custom sign-in page; with a login there is a session already. */
  startStepUp(app: string, login?: string, signInPage?: string): StepUpStart
  /** Every state, session, recovery, activation and QR token that was ever handed out (the last 200,000). */
  tokensIssued(): string[]
  /** From now on every state token handed out so far is expired. */
  expireTransactions(): void
}

export function createAuthnControl(org: Org): AuthnControl {
  function user(login: string): User {
    const found = org.users.findByUsername(login)
    if (found === undefined) throw new Error(`nobody is called ${login}`)
    return found
  }

  function waitingPushes(owner: User) {
    return org.transactions.all().filter((one) => one.user === owner && one.factorResult === 'WAITING')
  }

  return {
    apiToken: org.config.apiTokens[0] ?? '',
    apiTokens: org.apiTokens,
    settings: org.settings,
    outbox: org.outbox,
    signIns: org.signIns,
    user,
    users: () => org.users.all(),
    totpCode(login) {
      const code = nextUserCode(org, user(login))
      if (code === undefined) throw new Error(`${login} has no factor with codes`)
      return code
    },
    tokenCode: (credentialId) =>
      nextTotpCode({ secret: hardwareTokenSecret(credentialId), nowMs: org.now() }),
    hasPendingPush: (login) => waitingPushes(user(login)).length > 0,
    answerPush(login, answer) {
      const waiting = waitingPushes(user(login))
      if (waiting.length === 0) throw new Error(`no push waits for ${login}`)
      for (const { challenge } of waiting) if (challenge !== undefined) challenge.pushAnswer = answer
    },
    duoResponse(login) {
      const waiting = waitingPushes(user(login)).find(({ factor }) => factor?.factorType === 'web')
      const { factor, challenge } = waiting ?? {}
      if (factor === undefined || challenge === undefined) throw new Error(`no Duo waits for ${login}`)
      return signDuoResponse({ factor, challenge })
    },
    authenticator(login, credentialId) {
      const owner = user(login)
      const own = createVirtualAuthenticator({ seed: owner.login })
      const others = owner.config.factors.map((factor) =>
        createVirtualAuthenticator({ seed: keySeed(factor, owner) }),
      )
      const key = [own, ...others].find((one) => [undefined, one.credentialId].includes(credentialId))
      if (key === undefined) throw new Error(`${login} has no key ${credentialId}`)
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
    startStepUp(name, login, signInPage) {
      const app = signInPage === undefined ? findSpInitiatedApp(org, name) : findApp(org, name)
      return beginStepUp(org, {
        app,
        user: login === undefined ? undefined : user(login),
        client: {
          trusted: false,
          address: '127.0.0.1',
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

const HAS_CODES: ReadonlySet<string> = new Set([
  'token:software:totp',
  'token',
  'token:hardware',
  'token:hotp',
])

/** undefined: no factor of this user shows codes. Also while an authenticator app is being enrolled. */
export function nextUserCode(org: Org, user: User): string | undefined {
  const enrolling = org.transactions.all().find((one) => one.user === user)?.factor
  const factor = [...user.factors, enrolling].find(
    (one) => one !== undefined && HAS_CODES.has(one.factorType),
  )
  return factor && nextFactorCode(factor, org.now())
}
