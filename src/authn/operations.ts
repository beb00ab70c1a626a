import type { z } from 'zod'
import { changePasswordBody, type QueryFlag, stateBody, verifyBody } from './schemas.ts'
import type { Proof } from './transaction.ts'

/** A step inside a transaction: its body bears the handle. The path is ours and the upstream's alike. */
export interface Operation {
  readonly name: string
  readonly path: string
  readonly body: z.ZodType<{ stateToken: string } & Record<string, unknown>>
  /** Query parameters that pass on. */
  readonly query: readonly QueryFlag[]
  /** `offered`: refused unless the upstream has offered it in this transaction. */
  readonly allowed: 'offered' | 'always'
  /** What it proves when the upstream accepts it. */
  readonly proves: 'password' | 'factor' | undefined
}

const API = '/api/v1/authn'

export const OPERATIONS: readonly Operation[] = [
  step('cancel', `${API}/cancel`, { allowed: 'always' }),
  step('previous', `${API}/previous`, { allowed: 'always' }),
  step('skip', `${API}/skip`),
  step('change_password', `${API}/credentials/change_password`, {
    body: changePasswordBody,
    proves: 'password',
  }),
  step('verify', `${API}/factors/:id/verify`, {
    body: verifyBody,
    query: ['rememberDevice', 'autoPush'],
    proves: 'factor',
  }),
  step('resend', `${API}/factors/:id/verify/resend`),
]

function step(name: string, path: string, rest: Partial<Operation> = {}): Operation {
  return { name, path, body: stateBody, query: [], allowed: 'offered', proves: undefined, ...rest }
}

/** Authentication method names of RFC 8176 for the factor types we know; another one is just a second factor. */
const AMR: Readonly<Record<string, string>> = {
  question: 'kba',
  sms: 'sms',
  call: 'tel',
  email: 'otp',
  push: 'swk',
  token: 'hwk',
  'token:software:totp': 'otp',
  'token:hotp': 'otp',
  'token:hardware': 'hwk',
  webauthn: 'hwk',
  u2f: 'hwk',
}

export const PASSWORD_PROOF: Proof = { amr: 'pwd' }

export function proofOf(operation: Operation, factorType: string | undefined): Proof | undefined {
  if (operation.proves === 'password') return PASSWORD_PROOF
  if (operation.proves === 'factor') return { amr: AMR[factorType ?? ''] ?? 'mfa' }
  return undefined
}

/** The upstream's path of a step: our template with the path's own ids, each one encoded segment. */
export function upstreamPath(operation: Operation, params: Readonly<Record<string, string>>): string {
  return operation.path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''))
}
