import type { AttemptedStep } from '../throttling/attempts.ts'
import {
  type Enrollment,
  EXTERNAL_FACTOR_PROOF,
  enrollmentOfStep,
  getProof,
  type Proof,
} from '../transaction/credentials.ts'
import type { OfferedStep, Transaction } from '../transaction/transaction.ts'
import { type AuthnCall, PRIMARY } from '../upstream/authn-upstream.ts'
import { carriesApiToken, ENTRY_OPERATIONS, type Operation } from './operations.ts'
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
  /** All other sessions of the user must end. */
  readonly revokesSessions?: boolean | undefined
  /** Whether the stored record names the user: an earlier call of the same step may have named the user first. */
  readonly isUserStored?: boolean | undefined
}

/** What the calls of one step have in common. */
export interface SharedByCalls extends Pick<AuthnCall, 'deadline'>, Pick<UpstreamStep, 'isUserStored'> {}

/** The body of primary authentication without its handle. */
export type StateFields = Omit<PrimaryBody, 'stateToken'>

/** A request for the transaction's state, or step-up with credentials. */
export function buildStateStep(
  before: Transaction,
  body: StateFields,
  { deadline, isUserStored }: SharedByCalls = {},
): UpstreamStep {
  // if the status changes, the challenged factor was verified, even if not by a step here
  const waitsForFactor = before.status === 'MFA_CHALLENGE' && before.credentialAccepted
  return {
    operation: body.username === undefined ? 'state' : 'primary',
    call: {
      path: PRIMARY,
      body: { ...body, stateToken: before.stateToken },
      bearsToken: true,
      carriesApiToken: carriesApiToken(ENTRY_OPERATIONS.authenticate),
      deadline,
    },
    proof: waitsForFactor ? EXTERNAL_FACTOR_PROOF : undefined,
    isUserStored,
  }
}

export interface OperationStep {
  readonly operation: Operation
  readonly path: string
  readonly query: QueryFlags
  /** The query of the link that the page follows, as Okta wrote it. */
  readonly offeredQuery: string
  readonly pollPath: string | undefined
  readonly attempted: AttemptedStep
}

/** An operation within a transaction. */
export function buildOperationStep(
  step: OperationStep,
  before: Transaction,
  { deadline, isUserStored }: SharedByCalls = {},
): UpstreamStep {
  const { operation, path, query, offeredQuery, pollPath, attempted } = step
  const { fields, factorId, factorType } = attempted
  return {
    operation: operation.name,
    call: {
      path: path + addFlags(offeredQuery, query),
      body: { stateToken: before.stateToken, ...fields },
      bearsToken: true,
      carriesApiToken: carriesApiToken(operation, before),
      encoding: operation.encoding,
      deadline,
    },
    proof: getProof(operation.credential, attempted, before),
    factorType,
    factorId,
    enrollment: enrollmentOfStep({ ...attempted, updatePhone: query.updatePhone === 'true' }, before),
    pollPath,
    revokesSessions: revokesSessions(operation, fields, before),
    isUserStored,
  }
}

/** By default only after a recovery, with which Okta ends its own sessions too (R5). */
function revokesSessions(
  { name }: Operation,
  { revokeSessions }: AttemptedStep['fields'],
  { isRecovery = false }: Transaction,
): boolean {
  const isDefault = isRecovery && name === 'reset_password'
  return isDefault ? revokeSessions !== false : revokeSessions === true
}

function addFlags(offered: string, flags: QueryFlags): string {
  const has = new URLSearchParams(offered)
  const added = Object.entries(flags).flatMap(([name, value]) =>
    value === undefined || has.has(name) ? [] : [`${name}=${value}`],
  )
  const all = [...(offered === '' ? [] : [offered.slice(1)]), ...added]
  return all.length === 0 ? '' : `?${all.join('&')}`
}

/** The query of the offered link that a request with this query follows, as Okta wrote it; empty if there is none. */
export function findQuery(offered: readonly OfferedStep[], path: string, search: string): string {
  const asked = new URLSearchParams(search)
  const isFollowed = (query: string) =>
    // the browser's link has the handle instead of a state token
    [...new URLSearchParams(query)].every(
      ([name, value]) => asked.has(name, value) || (name === 'stateToken' && asked.has(name)),
    )
  return (
    offered.findLast((step) => step.path === path && step.query !== '' && isFollowed(step.query))?.query ?? ''
  )
}
