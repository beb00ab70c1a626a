import type { AttemptedStep } from '../throttling/attempts.ts'
import {
  type Enrollment,
  EXTERNAL_FACTOR_PROOF,
  enrollmentOfStep,
  getProof,
  type Proof,
} from '../transaction/credentials.ts'
import type { Transaction } from '../transaction/transaction.ts'
import { type AuthnCall, PRIMARY } from '../upstream/authn-upstream.ts'
import type { Operation } from './operations.ts'
import type { PrimaryBody, QueryFlags } from './schemas.ts'

/** A step as it is sent to Okta, and what it means if Okta accepts it. */
export interface UpstreamStep {
  readonly operation: string
  readonly call: AuthnCall
  readonly proof: Proof | undefined
  readonly factorType?: string | undefined
  /** The factor in the path. */
  readonly factorId?: string | undefined
  /** The factor that the step sets up. */
  readonly enrollment?: Enrollment | undefined
  /** The path, if the step is a poll. */
  readonly pollPath?: string | undefined
  /** The `autoPush` choice in the query. */
  readonly autoPush?: boolean | undefined
  /** All other sessions of the user must end. */
  readonly revokesSessions?: boolean | undefined
}

/** The body of primary authentication without its handle. */
export type StateFields = Omit<PrimaryBody, 'stateToken'>

/** A request for the transaction's state, or step-up with credentials. */
export function buildStateStep(before: Transaction, body: StateFields, deadline?: number): UpstreamStep {
  // if the status changes, the challenged factor was verified, even if not by a step here
  const waitsForFactor = before.status === 'MFA_CHALLENGE' && before.credentialAccepted
  return {
    operation: body.username === undefined ? 'state' : 'primary',
    call: { path: PRIMARY, body: { ...body, stateToken: before.stateToken }, bearsToken: true, deadline },
    proof: waitsForFactor ? EXTERNAL_FACTOR_PROOF : undefined,
  }
}

export interface OperationStep {
  readonly operation: Operation
  readonly path: string
  readonly query: QueryFlags
  readonly pollPath: string | undefined
  readonly attempted: AttemptedStep
}

/** An operation within a transaction. */
export function buildOperationStep(
  step: OperationStep,
  before: Transaction,
  deadline?: number,
): UpstreamStep {
  const { operation, path, query, pollPath, attempted } = step
  const { fields, factorId, factorType } = attempted
  return {
    operation: operation.name,
    call: {
      path: path + toQueryString(query),
      body: { stateToken: before.stateToken, ...fields },
      bearsToken: true,
      encoding: operation.encoding,
      deadline,
    },
    proof: getProof(operation.credential, attempted, before),
    factorType,
    factorId,
    enrollment: enrollmentOfStep({ ...attempted, updatePhone: query.updatePhone === 'true' }, before),
    pollPath,
    autoPush: query.autoPush === undefined ? undefined : query.autoPush === 'true',
    revokesSessions: fields.revokeSessions === true,
  }
}

function toQueryString(query: QueryFlags): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${value}`],
  )
  return given.length === 0 ? '' : `?${given.join('&')}`
}
