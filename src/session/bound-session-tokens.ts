import { createSigner, type MasterKeys, type Signer } from '../crypto/keys.ts'
import type { BoundCookieState } from './bound-session-rule.ts'

export interface BoundSessionTokensOptions {
  readonly masterKeys: MasterKeys
  readonly cookieMs: number
  readonly registrationMs: number
  readonly refreshMs: number
  readonly now: () => number
}

export type BoundSessionTokens = ReturnType<typeof createBoundSessionTokens>

/** A challenge of a refresh cannot register a key. */
export type ChallengePurpose = 'registration' | 'refresh'

/** `expired`: a real one of this session that came too late. */
export type ChallengeState = 'live' | 'expired' | 'wrong'

/** `<time, milliseconds in base 36>.<signature>` */
const FORM = /^([0-9a-z]{1,9})\.([\w-]{43})$/
/** The clocks of replicas differ by less. */
const CLOCK_SKEW_MS = 60_000

/**
 * What the broker hands out for a bound session. Nothing of it is stored: each value is signed with
 * the secret id of its session, so it is worth nothing with another one. The public id would not
 * do: a new sign-in of the same user keeps it.
 */
export function createBoundSessionTokens(options: BoundSessionTokensOptions) {
  const { masterKeys, cookieMs, now } = options
  const names = createSigner(masterKeys, 'bound-session-names')
  const challenges = createSigner(masterKeys, 'bound-session-challenge')
  const cookies = createSigner(masterKeys, 'bound-session-cookie')
  const lifeMs = { registration: options.registrationMs, refresh: options.refreshMs }
  const textOf = (purpose: ChallengePurpose, sessionId: string, issued: string) =>
    JSON.stringify([purpose, sessionId, issued])

  return {
    /** The session's name for the browser: its `session_identifier`. */
    nameOf: (sessionId: string) => names.sign(sessionId),

    /** Also for a name from before a rotation of SECRET_KEYS. */
    isNameOf: (sessionId: string, name: string) => names.verify(sessionId, name) !== 'wrong',

    createChallenge(purpose: ChallengePurpose, sessionId: string): string {
      const issued = Math.floor(now()).toString(36)
      return `${issued}.${challenges.sign(textOf(purpose, sessionId, issued))}`
    },

    readChallenge(purpose: ChallengePurpose, sessionId: string, challenge: string): ChallengeState {
      const issuedMs = timeIn(challenge, challenges, (issued) => textOf(purpose, sessionId, issued))
      if (issuedMs === undefined) return 'wrong'
      const ageMs = now() - issuedMs
      if (ageMs < -CLOCK_SKEW_MS) return 'wrong'
      return ageMs < lifeMs[purpose] ? 'live' : 'expired'
    },

    /** The value of the bound cookie. */
    createCookie(sessionId: string): string {
      const end = Math.floor(now() + cookieMs).toString(36)
      return `${end}.${cookies.sign(JSON.stringify([sessionId, end]))}`
    },

    readCookie(sessionId: string, value: string | undefined): BoundCookieState {
      if (value === undefined) return 'none'
      const endMs = timeIn(value, cookies, (end) => JSON.stringify([sessionId, end]))
      if (endMs === undefined) return 'wrong'
      const leftMs = endMs - now()
      if (leftMs > cookieMs + CLOCK_SKEW_MS) return 'wrong' // of a replica whose clock is wrong
      return leftMs > 0 ? 'valid' : 'expired'
    },
  }
}

/** undefined: `value` has another form, or its signature is not of `textOf` its time. */
function timeIn(value: string, signer: Signer, textOf: (time: string) => string): number | undefined {
  const [, time, signature] = FORM.exec(value) ?? []
  if (time === undefined || signature === undefined) return undefined
  return signer.verify(textOf(time), signature) === 'wrong' ? undefined : Number.parseInt(time, 36)
}
