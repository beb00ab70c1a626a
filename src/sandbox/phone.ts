import { enrollmentOffers } from './authn/advance.ts'
import { enrollmentQrCode } from './authn/enrollment-qr-code.ts'
import { hardwareTokenSecret, nextTotpCode } from './authn/factors/otp.ts'
import { nextFactorCode } from './authn/factors/otp-factors.ts'
import type { Org } from './authn/org.ts'
import type { Transaction } from './authn/transaction.ts'
import type { Factor, User } from './authn/user.ts'

export type PhoneCode = { label: string; code: string }
/** With number matching, one of these three numbers is tapped; without, the list is empty. */
export type PhoneRequest = { numbers: number[] }
export type PhoneAnswer = 'approve' | 'reject' | number

/** What each user has in their hands: a phone with apps, and tokens. Logins may be short names; an unknown one throws. */
export type Phones = {
  /** Codes of apps and tokens. An app that is being set up has one once its QR code was scanned. */
  codes(login: string): PhoneCode[]
  /** The sign-in request that waits for an answer; undefined: none does. */
  request(login: string): PhoneRequest | undefined
  /** A wrong number is a refusal. Throws when no request waits, or when the answer is not among those asked for. */
  answer(login: string, answer: PhoneAnswer): void
  /** Reads a QR code (PNG). Throws when it is not one of an enrollment that this user has open. */
  scan(login: string, picture: Buffer): Promise<void>
}

const SPARE_SERIAL = 'SPARE-0001'
const TOKEN_TYPES: ReadonlySet<string> = new Set(['token', 'token:hardware'])

export function createPhones({ org, user }: { org: Org; user: (login: string) => User }): Phones {
  const scanned = new WeakSet<Factor>()

  const transactionsOf = (owner: User) => org.transactions.all().filter((one) => one.user === owner)
  const waitingRequest = (owner: User) =>
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
      const shown = [...new Set([...owner.factors, ...enrolling])].flatMap((factor) => {
        const label = labelOf(factor)
        return label === undefined ? [] : [{ label, code: nextFactorCode(factor, org.now()) }]
      })
      const latest = open.at(-1)
      return [...shown, ...(latest !== undefined && canEnrollToken(latest) ? [spareToken()] : [])]
    },
    request(login) {
      const challenge = waitingRequest(user(login))?.challenge
      if (challenge === undefined) return undefined
      return { numbers: challenge.correctAnswer === undefined ? [] : numbersAround(challenge.correctAnswer) }
    },
    answer(login, answer) {
      const challenge = waitingRequest(user(login))?.challenge
      if (challenge === undefined) throw new Error(`no request waits for ${login}`)
      const { correctAnswer } = challenge
      const numbers = correctAnswer === undefined ? [] : numbersAround(correctAnswer)
      const allowed: PhoneAnswer[] = ['reject', ...(numbers.length === 0 ? ['approve' as const] : numbers)]
      if (!allowed.includes(answer)) throw new Error(`this request is answered with ${allowed.join(', ')}`)
      challenge.pushAnswer = answer === 'approve' || answer === correctAnswer ? 'approve' : 'reject'
    },
    async scan(login, picture) {
      const owner = user(login)
      for (const { factor, challenge } of transactionsOf(owner)) {
        if (factor === undefined || challenge?.qrToken === undefined) continue
        if (!picture.equals(await enrollmentQrCode(owner, factor))) continue
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

/** undefined: it shows no codes. */
function labelOf({ factorType, provider, profile, config }: Factor): string | undefined {
  if (TOKEN_TYPES.has(factorType)) return `Token ${profile?.credentialId}`
  if (factorType === 'token:hotp') return config.vendorName ?? 'Token'
  if (factorType !== 'token:software:totp') return undefined
  return provider === 'OKTA' ? 'Okta Verify' : 'Authenticator app'
}

/** The right number and two others between 10 and 99, the same on every call. */
function numbersAround(right: number): number[] {
  const other = (distance: number) => 10 + ((right - 10 + distance) % 90)
  return [right, other(31), other(62)].sort((one, another) => one - another)
}
