import type { Client } from '../browser/client.ts'
import {
  awaitsCredential,
  isUnverifiedImport,
  PASSWORD_PROOF,
  type Proof,
} from '../transaction/credentials.ts'
import type { StepResult } from '../transaction/step-result.ts'
import type { Transaction } from '../transaction/transaction.ts'
import type { SendStep } from './send-step.ts'
import { buildStateStep, type StateFields } from './upstream-step.ts'

export interface CredentialsDeps {
  readonly sendStep: SendStep
  /** Whether the typed login and the login in Okta's answer name the same user. */
  readonly isSameLogin: (typed: string, named: unknown) => boolean
  /** When all calls of a step that begins now must end. */
  readonly deadline: () => number
}

/**
 * Sends a credential only if Okta awaits it. Another holder of an imported state token can advance the transaction at
 * Okta at any time. So until a credential is accepted here, the broker requests the state from Okta first.
 */
export async function sendIfAwaited(
  request: { before: Transaction; handle: string; operation: string; fields: StateFields },
  client: Client,
  deps: CredentialsDeps,
  send: (before: Transaction, deadline?: number) => Promise<StepResult>,
): Promise<StepResult> {
  const { before, handle, operation, fields } = request
  if (!isUnverifiedImport(before)) return send(before)
  const deadline = deps.deadline() // for both calls together, because the step lock expires
  const state = await deps.sendStep(before, handle, buildStateStep(before, fields, deadline), client)
  if (state.after === undefined || !awaitsCredential(operation, state.status)) return state
  return send(state.after, deadline)
}

/** Sends username and password in a transaction. They identify the user only if Okta awaits them. */
export async function sendCredentials(
  before: Transaction,
  handle: string,
  body: StateFields,
  client: Client,
  deps: CredentialsDeps,
  deadline: number | undefined,
): Promise<StepResult> {
  const awaited = awaitsCredential('primary', before.status)
  const named = awaited ? { ...before, login: body.username } : before
  const proof = awaited ? passwordProof(body.username, before, deps) : undefined
  const step = { ...buildStateStep(before, body, deadline), proof }
  const result = await deps.sendStep(named, handle, step, client)
  const { after } = result
  // credentials that Okta did not accept do not identify the user of the transaction
  if (after === named) return { ...result, after: before }
  return after?.credentialAccepted === false
    ? { ...result, after: { ...after, login: before.login } }
    : result
}

/** In an imported transaction, the answer must name the user whose password was sent. */
function passwordProof(
  login: string | undefined,
  before: Transaction,
  { isSameLogin }: Pick<CredentialsDeps, 'isSameLogin'>,
): Proof {
  return login !== undefined && isUnverifiedImport(before)
    ? { ...PASSWORD_PROOF, matchesUser: (user) => isSameLogin(login, user?.profile.login) }
    : PASSWORD_PROOF
}
