import type { Client } from '../browser/client.ts'
import type { AttemptedStep } from '../throttling/attempts.ts'
import { enrolmentIn } from '../transaction/enrolment.ts'
import type { Transaction } from '../transaction/transaction.ts'
import type { Sending } from './exchange.ts'
import { ELSEWHERE_PROOF, type Operation, proofOf } from './operations.ts'
import type { PrimaryBody, QueryFlags } from './schemas.ts'

/** A transaction's body without its handle. */
export type StateFields = Omit<PrimaryBody, 'stateToken'>

export const PRIMARY = '/api/v1/authn'

/** "Where am I?", and step-up with credentials. */
export function sendingOfState(
  before: Transaction,
  body: StateFields,
  client: Client,
  deadline?: number,
): Sending {
  return {
    operation: body.username === undefined ? 'state' : 'primary',
    call: { path: PRIMARY, body: primaryCall(body, before.stateToken, client), bearsToken: true, deadline },
    proof: waitsForFactor(before) ? ELSEWHERE_PROOF : undefined,
  }
}

/** What goes upstream of a step inside a transaction, and what it means there. */
export function sendingOfStep(
  step: {
    readonly operation: Operation
    readonly path: string
    readonly query: QueryFlags
    readonly tried: AttemptedStep
  },
  before: Transaction,
  deadline?: number,
): Sending {
  const { operation, path, query, tried } = step
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
    proof: proofOf(operation, tried, before),
    factorType,
    factorId,
    enrolment: enrolmentIn({ ...tried, updatePhone: query.updatePhone === 'true' }, before),
    revokesSessions: fields.revokeSessions === true,
  }
}

/** A later status of this transaction means that the challenged factor was verified, also when no step here did it. */
function waitsForFactor({ status, credentialAccepted }: Transaction): boolean {
  return status === 'MFA_CHALLENGE' && credentialAccepted
}

/** Every form of primary authentication carries the device of our own cookie, whatever the browser says. */
export function primaryCall(body: StateFields, stateToken: string | undefined, client: Client) {
  const { context: _browsers, ...rest } = body
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
