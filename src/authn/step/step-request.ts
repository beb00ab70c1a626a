import {
  ENTRY_OPERATIONS,
  type Operation,
  STEP_OPERATIONS,
  type StepOperationId,
  upstreamPath,
} from '../operations.ts'
import type { PrimaryBody, QueryFlags, RecoveryBody, RecoveryTokenBody } from '../schemas.ts'
import type { RecoveryType } from '../transaction/transaction.ts'

/** One request of a sign-in, parsed. Plain data. */
export type StepRequest =
  | SignInRequest
  | RecoveryRequest
  | RecoveryTokenRequest
  | StateRequest
  | OperationRequest
  | RedirectRequest

/** Begins a transaction with credentials or an activation token. */
export interface SignInRequest {
  readonly kind: 'sign-in'
  readonly body: StateFields
}

/** Forgotten password or locked account. */
export interface RecoveryRequest {
  readonly kind: 'recovery'
  readonly recoveryType: RecoveryType
  readonly body: RecoveryBody
}

/** Begins a transaction with the token of a recovery email, which is never stored. */
export interface RecoveryTokenRequest {
  readonly kind: 'recovery-token'
  readonly body: RecoveryTokenBody
}

/** The body of primary authentication without its handle. */
export type StateFields = Omit<PrimaryBody, 'stateToken'>

/** The state of the transaction, or step-up with credentials. */
export interface StateRequest {
  readonly kind: 'state'
  readonly handle: string
  readonly fields: StateFields
}

/** An operation in a transaction. */
export interface OperationRequest {
  readonly kind: 'operation'
  readonly handle: string
  readonly operation: StepOperationId
  /** Of the path. */
  readonly params: Readonly<Record<string, string>>
  readonly query: QueryFlags
  /** The whole query of the request. */
  readonly search: string
  /** The body without the handle. */
  readonly fields: Readonly<Record<string, unknown>>
}

/** Follows a redirect that Okta offered. */
export interface RedirectRequest {
  readonly kind: 'redirect'
  readonly handle: string
  readonly path: string
}

/** A request in a transaction, which it names by its handle. The others begin one. */
export type RequestInTransaction = StateRequest | OperationRequest | RedirectRequest

export function isInTransaction(request: StepRequest): request is RequestInTransaction {
  return 'handle' in request
}

/** What makes two requests of one device and handle identical. */
export interface RequestIdentity {
  /**
   * Path, query and body. undefined: no other request is identical, because the link works once.
   */
  readonly content: readonly unknown[] | undefined
  /** How many requests of the transaction may run while this one runs, itself included. */
  readonly maxConcurrent?: number | undefined
}

export function identityOf(request: StepRequest): RequestIdentity {
  switch (request.kind) {
    case 'sign-in':
      return { content: [ENTRY_OPERATIONS.authenticate.path, request.body] }
    case 'recovery':
      return { content: [request.recoveryType, request.body] }
    case 'recovery-token':
      return { content: [ENTRY_OPERATIONS.redeemRecoveryToken.path, request.body] }
    case 'state':
      return { content: [ENTRY_OPERATIONS.authenticate.path, request.fields] }
    case 'redirect':
      return { content: undefined }
    case 'operation': {
      const { maxConcurrent } = operationOf(request)
      const pollPath = pollPathOf(request)
      const path = pathOf(request)
      return {
        content: pollPath === undefined ? [path, request.search, request.fields] : [path],
        maxConcurrent,
      }
    }
  }
}

export function operationOf({ operation }: OperationRequest): Operation {
  return STEP_OPERATIONS[operation]
}

/** Okta's path. */
export function pathOf(request: OperationRequest): string {
  return upstreamPath(operationOf(request), request.params)
}

/** The path, if the request is a poll. */
export function pollPathOf(request: StepRequest): string | undefined {
  if (request.kind !== 'operation' || !operationOf(request).polls) return undefined
  // an empty `passCode` is no code
  const isEmpty = Object.values(request.fields).every((value) => value === '')
  return isEmpty ? pathOf(request) : undefined
}
