import type { z } from 'zod'
import type { BodyEncoding } from '../../http/request-body.ts'
import type { Proof, Transaction } from '../transaction/transaction.ts'
import {
  activateBody,
  answerBody,
  changePasswordBody,
  duoCallbackBody,
  enrollBody,
  enrollResendBody,
  type QueryFlag,
  recoveryCodeBody,
  resetPasswordBody,
  sendLinkBody,
  stateBody,
  verifyBody,
} from './schemas.ts'

/** A step inside a transaction: its body bears the handle. The path is ours and the upstream's alike. */
export interface Operation {
  readonly name: string
  readonly path: string
  readonly body: z.ZodType<{ stateToken: string } & Record<string, unknown>>
  /** How the body arrives, and how it goes upstream. */
  readonly encoding: BodyEncoding
  /** Query parameters that pass on. */
  readonly query: readonly QueryFlag[]
  /** `offered`: refused unless the upstream has offered it in this transaction. */
  readonly allowed: 'offered' | 'always'
  /** What it proves when the upstream accepts it. */
  readonly proves: 'password' | 'new-password' | 'factor' | undefined
  /** Sent without a field of its own it asks how things stand: the poll of a push. */
  readonly polls: boolean
  /** As long as it is under way, so many requests of its transaction may be. Undefined: as many as of any other. */
  readonly atOnce: number | undefined
}

const API = '/api/v1/authn'
const FACTOR = `${API}/factors/:id`
/** A push factor is activated at a second path too: its links by mail and text message, and anew after a time-out. */
const USER_FACTOR = '/api/v1/users/:uid/factors/:id'

export const OPERATIONS: readonly Operation[] = [
  step('cancel', `${API}/cancel`, { allowed: 'always' }),
  step('previous', `${API}/previous`, { allowed: 'always' }),
  step('skip', `${API}/skip`),
  step('change_password', `${API}/credentials/change_password`, {
    body: changePasswordBody,
    proves: 'password',
  }),
  step('reset_password', `${API}/credentials/reset_password`, {
    body: resetPasswordBody,
    proves: 'new-password',
  }),
  step('recovery_answer', `${API}/recovery/answer`, { body: answerBody }),
  // answered late on purpose, and anybody can begin a recovery: each request that waits holds a place
  step('recovery_verify', `${API}/recovery/factors/:type/verify`, { body: recoveryCodeBody, atOnce: 2 }),
  step('recovery_resend', `${API}/recovery/factors/:type/resend`, { atOnce: 2 }),
  step('enroll', `${API}/factors`, { body: enrollBody, query: ['updatePhone'] }),
  step('verify', `${FACTOR}/verify`, {
    body: verifyBody,
    query: ['rememberDevice', 'autoPush'],
    proves: 'factor',
    polls: true,
  }),
  step('resend', `${FACTOR}/verify/resend`, { query: ['rememberDevice', 'autoPush'] }),
  step('activate', `${FACTOR}/lifecycle/activate`, {
    body: activateBody,
    query: ['updatePhone'],
    polls: true,
  }),
  step('activate_poll', `${FACTOR}/lifecycle/activate/poll`, { query: ['updatePhone'], polls: true }),
  // the sign-in widget posts what Duo's frame gave it, then it polls: the answer to the form itself says nothing
  step('duo_callback', `${FACTOR}/lifecycle/duoCallback`, { body: duoCallbackBody, encoding: 'form' }),
  step('activate_resend', `${FACTOR}/lifecycle/resend`, { body: enrollResendBody, query: ['updatePhone'] }),
  step('activate_email', `${FACTOR}/lifecycle/activate/email`, {
    body: sendLinkBody,
    query: ['updatePhone'],
  }),
  step('activate_sms', `${FACTOR}/lifecycle/activate/sms`, { body: sendLinkBody, query: ['updatePhone'] }),
  step('activate', `${USER_FACTOR}/lifecycle/activate`, {
    body: activateBody,
    query: ['updatePhone'],
    polls: true,
  }),
  step('activate_email', `${USER_FACTOR}/lifecycle/activate/email`, {
    body: sendLinkBody,
    query: ['updatePhone'],
  }),
  step('activate_sms', `${USER_FACTOR}/lifecycle/activate/sms`, {
    body: sendLinkBody,
    query: ['updatePhone'],
  }),
]

function step(name: string, path: string, rest: Partial<Operation> = {}): Operation {
  return {
    name,
    path,
    body: stateBody,
    encoding: 'json',
    query: [],
    allowed: 'offered',
    proves: undefined,
    polls: false,
    atOnce: undefined,
    ...rest,
  }
}

/** A factor type that we know: its authentication method name of RFC 8176, and what its verification shows here. */
interface KnownFactor {
  readonly amr: string
  /** The field of the proof. None where the user approves elsewhere, such as on a phone: nobody looks at a field then. */
  readonly shows?: 'passCode' | 'answer' | 'password' | 'signatureData'
}

const KNOWN_FACTORS: ReadonlyMap<string | undefined, KnownFactor> = new Map<string, KnownFactor>(
  Object.entries({
    password: { amr: 'pwd', shows: 'password' },
    question: { amr: 'kba', shows: 'answer' },
    sms: { amr: 'sms', shows: 'passCode' },
    call: { amr: 'tel', shows: 'passCode' },
    email: { amr: 'otp', shows: 'passCode' },
    push: { amr: 'swk' },
    token: { amr: 'hwk', shows: 'passCode' },
    'token:software:totp': { amr: 'otp', shows: 'passCode' },
    'token:hotp': { amr: 'otp', shows: 'passCode' },
    'token:hardware': { amr: 'hwk', shows: 'passCode' },
    webauthn: { amr: 'hwk', shows: 'signatureData' },
    u2f: { amr: 'hwk', shows: 'signatureData' },
  }),
)
/** Also one that another identity provider verifies: just a second factor. */
const ANY_OTHER: KnownFactor = { amr: 'mfa' }

export const PASSWORD_PROOF: Proof = { kind: 'password', provesUser: true, amr: 'pwd' }
/** An activation token is a password for one use. */
export const ACTIVATION_PROOF: Proof = { kind: 'password', provesUser: false, amr: 'otp' }
/** A factor that was verified outside of this broker: another identity provider, an approval on a phone. */
export const ELSEWHERE_PROOF: Proof = { kind: 'factor', provesUser: false, amr: 'mfa' }
const NEW_PASSWORD_PROOF: Proof = { kind: 'password', provesUser: false, amr: 'pwd' }

/** It came from outside, and nobody has shown a credential in it here: somebody else may have begun it, and may move it. */
export function mayBeAnothers({
  origin,
  credentialAccepted,
}: Pick<Transaction, 'origin' | 'credentialAccepted'>): boolean {
  return origin === 'imported' && !credentialAccepted
}

/** What a step proves once the upstream accepts it. */
export function proofOf(
  { proves }: Pick<Operation, 'proves'>,
  shown: { readonly factorType: string | undefined; readonly fields: Readonly<Record<string, unknown>> },
  transaction: Pick<Transaction, 'origin' | 'credentialAccepted'>,
): Proof | undefined {
  // what is approved on somebody else's phone, or chosen anew, says nothing of who sits here
  const isUnproved = mayBeAnothers(transaction)
  switch (proves) {
    case 'password':
      return PASSWORD_PROOF
    case 'new-password': // where a credential was accepted it is no second one
      return transaction.credentialAccepted || isUnproved ? undefined : NEW_PASSWORD_PROOF
    case 'factor': {
      const { amr, shows } = KNOWN_FACTORS.get(shown.factorType) ?? ANY_OTHER
      const isShownHere = shows !== undefined && isShown(shown.fields[shows])
      return isUnproved && !isShownHere ? undefined : { kind: 'factor', provesUser: isShownHere, amr }
    }
    case undefined:
      return undefined
  }
}

function isShown(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

/** The upstream's path of a step: our template with the path's own ids, each one encoded segment. */
export function upstreamPath(operation: Operation, params: Readonly<Record<string, string>>): string {
  return operation.path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
}
