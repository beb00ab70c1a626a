import type { Client } from '../browser/client.ts'
import type { AttemptedStep } from '../throttling/attempts.ts'
import { type Enrolment, enrolmentIn } from '../transaction/enrolment.ts'
import { ELSEWHERE_PROOF, type Proof, proofOf } from '../transaction/proof.ts'
import type { Transaction } from '../transaction/transaction.ts'
import type { AuthnCall } from '../upstream/authn-upstream.ts'
import type { Operation } from './operations.ts'
import type { PrimaryBody, QueryFlags } from './schemas.ts'

/** What is sent to Okta, and what it means if Okta accepts it. */
export interface UpstreamStep {
  readonly operation: string
  readonly call: AuthnCall
  readonly proof: Proof | undefined
  readonly factorType?: string | undefined
  /** The factor in the path. */
  readonly factorId?: string | undefined
  /** The factor that the step sets up. */
  readonly enrolment?: Enrolment | undefined
  /** The path, if the step is a poll. */
  readonly pollPath?: string | undefined
  /** The user asked for all other sessions to end. */
  readonly revokesSessions?: boolean | undefined
}

/** A body of primary authentication without its handle. */
export type StateFields = Omit<PrimaryBody, 'stateToken'>

export const PRIMARY = '/api/v1/authn'

/** The transaction's state, or step-up with credentials. */
export function stateStep(
  before: Transaction,
  body: StateFields,
  client: Client,
  deadline?: number,
): UpstreamStep {
  // the challenged factor was verified if the status moves on, also if no step here did it
  const waitsForFactor = before.status === 'MFA_CHALLENGE' && before.credentialAccepted
  return {
    operation: body.username === undefined ? 'state' : 'primary',
    call: { path: PRIMARY, body: primaryFields(body, before.stateToken, client), bearsToken: true, deadline },
    proof: waitsForFactor ? ELSEWHERE_PROOF : undefined,
  }
}

export interface OperationStep {
  readonly operation: Operation
  readonly path: string
  readonly query: QueryFlags
  readonly pollPath: string | undefined
  readonly tried: AttemptedStep
}

/** An operation within a transaction. */
export function operationStep(step: OperationStep, before: Transaction, deadline?: number): UpstreamStep {
  const { operation, path, query, pollPath, tried } = step
  const { fields, factorId, factorType } = tried
  return {
    operation: operation.name,
    call: {
      path: path + search(query),
      body: { stateToken: before.stateToken, ...fields },
      bearsToken: true,
      encoding: operation.encoding,
      deadline,
    },
    proof: proofOf(operation.proves, tried, before),
    factorType,
    factorId,
    enrolment: enrolmentIn({ ...tried, updatePhone: query.updatePhone === 'true' }, before),
    pollPath,
    revokesSessions: fields.revokeSessions === true,
  }
}

/** Every form of primary authentication carries the device of the broker's own cookie, whatever the browser says. */
export function primaryFields(body: StateFields, stateToken: string | undefined, client: Client) {
  const { context: _ofTheBrowser, ...rest } = body
  return {
    ...rest,
    ...(stateToken === undefined ? {} : { stateToken }),
    context: { deviceToken: client.device.id },
  }
}

function search(query: QueryFlags): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${value}`],
  )
  return given.length === 0 ? '' : `?${given.join('&')}`
}
