import { enrollmentQrCode } from './authn/enrollment-qr-code.ts'
import { hardwareTokenSecret, nextTotpCode } from './authn/factors/otp.ts'
import { nextFactorCode } from './authn/factors/otp-factors.ts'
import { enrollmentOffers } from './authn/next-status.ts'
import type { Org } from './authn/org.ts'
import type { Transaction } from './authn/transaction.ts'
import type { Factor, User } from './authn/user.ts'

export type PhoneCode = { label: string; code: string }
/** With number matching, the three numbers to choose from; otherwise empty. */
export type PhoneRequest = { numbers: number[] }
export type PhoneAnswer = 'approve' | 'reject' | number

/**
 * Each user's phone, with its apps, and tokens. A login may be a short name. All methods throw for
 * an unknown user.
 */
export type Phones = {
  /**
   * Codes of authenticator apps and tokens. An app that is being enrolled has a code after its QR
   * code is scanned.
   */
  codes(login: string): PhoneCode[]
  /** The pending sign-in request (push); undefined if there is none. */
  request(login: string): PhoneRequest | undefined
  /**
   * A wrong number rejects the request. Throws if no request is pending, or if the request does not
   * allow this answer.
   */
  answer(login: string, answer: PhoneAnswer): void
  /** Scans a QR code (PNG). Throws unless it belongs to an open enrollment of this user. */
  scan(login: string, image: Buffer): Promise<void>
}

const SPARE_SERIAL = 'SPARE-0001'
const TOKEN_TYPES: ReadonlySet<string> = new Set(['token', 'token:hardware'])

export function createPhones({ org, user }: { org: Org; user: (login: string) => User }): Phones {
  const scanned = new WeakSet<Factor>()

  const transactionsOf = (owner: User) =>
    org.transactions.all().filter((transaction) => transaction.user === owner)
  const pendingRequest = (owner: User) =>
    transactionsOf(owner).findLast(
      ({ status, factor, factorResult }) =>
        status === 'MFA_CHALLENGE' && factor?.factorType === 'push' && factorResult === 'WAITING',
    )

  return {
    codes(login) {
      const owner = user(login)
      const open = transactionsOf(owner)
      const enrolling = open.flatMap(({ factor }) =>
        factor !== undefined && scanned.has(factor) ? factor : [],
      )
      const codes = [...new Set([...owner.factors, ...enrolling])].flatMap((factor) => {
        const label = labelOf(factor)
        return label === undefined ? [] : [{ label, code: nextFactorCode(factor, org.now()) }]
      })
      const latest = open.at(-1)
      return [...codes, ...(latest !== undefined && canEnrollToken(latest) ? [spareToken()] : [])]
    },
    request(login) {
      const challenge = pendingRequest(user(login))?.challenge
      if (challenge === undefined) return undefined
      return { numbers: challenge.correctAnswer === undefined ? [] : numberChoices(challenge.correctAnswer) }
    },
    answer(login, answer) {
      const challenge = pendingRequest(user(login))?.challenge
      if (challenge === undefined) throw new Error(`${login} has no pending request`)
      const { correctAnswer } = challenge
      const numbers = correctAnswer === undefined ? [] : numberChoices(correctAnswer)
      const allowed: PhoneAnswer[] = ['reject', ...(numbers.length === 0 ? ['approve' as const] : numbers)]
      if (!allowed.includes(answer)) throw new Error(`the answer must be one of ${allowed.join(', ')}`)
      challenge.pushAnswer = answer === 'approve' || answer === correctAnswer ? 'approve' : 'reject'
    },
    async scan(login, image) {
      const owner = user(login)
      for (const { factor, challenge } of transactionsOf(owner)) {
        if (factor === undefined || challenge?.qrToken === undefined) continue
        if (!image.equals(await enrollmentQrCode(owner, factor))) continue
        scanned.add(factor)
        if (factor.factorType === 'push') challenge.pushAnswer = 'approve'
        return
      }
      throw new Error('The phone cannot read this QR code.')
    },
  }

  function canEnrollToken({ status, user: owner }: Transaction): boolean {
    if (status !== 'MFA_ENROLL' || owner === undefined) return false
    return enrollmentOffers(org, owner).some(
      ({ type, factor }) => TOKEN_TYPES.has(type) && factor === undefined,
    )
  }

  function spareToken(): PhoneCode {
    const code = nextTotpCode({ secret: hardwareTokenSecret(SPARE_SERIAL), nowMs: org.now() })
    return { label: `Spare token, serial number ${SPARE_SERIAL}`, code }
  }
}

/** undefined if the factor has no codes. */
function labelOf({ factorType, provider, profile, config }: Factor): string | undefined {
  if (TOKEN_TYPES.has(factorType)) return `Token ${profile?.credentialId}`
  if (factorType === 'token:hotp') return config.vendorName ?? 'Token'
  if (factorType !== 'token:software:totp') return undefined
  return provider === 'OKTA' ? 'Okta Verify' : 'Authenticator app'
}

/** The correct number and two others from 10 to 99; always the same for a correct number. */
function numberChoices(correct: number): number[] {
  const other = (distance: number) => 10 + ((correct - 10 + distance) % 90)
  return [correct, other(31), other(62)].sort((a, b) => a - b)
}
