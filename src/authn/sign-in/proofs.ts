import { factorTypeOf } from '../../factor-types.ts'
import type { Proof, Transaction } from '../transaction/transaction.ts'
import type { Operation } from './operations.ts'

export const PASSWORD_PROOF: Proof = { kind: 'password', provesUser: true, amr: 'pwd' }
/** An activation token is a password for one use. */
export const ACTIVATION_PROOF: Proof = { kind: 'password', provesUser: false, amr: 'otp' }
/** A factor that was verified outside of this broker: by another identity provider, or by an approval on a phone. */
export const ELSEWHERE_PROOF: Proof = { kind: 'factor', provesUser: false, amr: 'mfa' }
const NEW_PASSWORD_PROOF: Proof = { kind: 'password', provesUser: false, amr: 'pwd' }

/** Imported, and no credential was accepted in it here: somebody else may have begun the transaction, and may move it. */
export function mayBeAnothers({
  origin,
  credentialAccepted,
}: Pick<Transaction, 'origin' | 'credentialAccepted'>): boolean {
  return origin === 'imported' && !credentialAccepted
}

/** What a step proves if Okta accepts it. */
export function proofOf(
  { proves }: Pick<Operation, 'proves'>,
  shown: { readonly factorType: string | undefined; readonly fields: Readonly<Record<string, unknown>> },
  transaction: Pick<Transaction, 'origin' | 'credentialAccepted'>,
): Proof | undefined {
  // what is approved on another phone, or chosen anew, says nothing about the user of this browser
  const isUnproved = mayBeAnothers(transaction)
  switch (proves) {
    case 'password':
      return PASSWORD_PROOF
    case 'new-password': // after an accepted credential it is no second one
      return transaction.credentialAccepted || isUnproved ? undefined : NEW_PASSWORD_PROOF
    case 'factor': {
      const { amr, proof } = factorTypeOf(shown.factorType)
      const isShownHere = proof !== undefined && isShown(shown.fields[proof])
      return isUnproved && !isShownHere ? undefined : { kind: 'factor', provesUser: isShownHere, amr }
    }
    case undefined:
      return undefined
  }
}

function isShown(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

/**
 * In which status Okta looks at what a step shows, by operation. In another one it may answer as if nothing had been shown
 * (docs/decisions/0012).
 */
const AWAITED_IN: Readonly<Record<string, ReadonlySet<string | undefined>>> = {
  primary: new Set(['UNAUTHENTICATED']),
  change_password: new Set(['PASSWORD_EXPIRED', 'PASSWORD_WARN']),
  verify: new Set(['MFA_REQUIRED', 'MFA_CHALLENGE', 'FACTOR_REQUIRED', 'FACTOR_CHALLENGE']),
}

/** Whether Okta looks at what the operation shows; `status` is undefined if its answer was an error. */
export function isAwaited(operation: string, status: string | undefined): boolean {
  return AWAITED_IN[operation]?.has(status) === true
}
