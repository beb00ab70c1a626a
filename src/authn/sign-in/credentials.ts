import type { Client } from '../browser/client.ts'
import { awaitsCredential, isUnverifiedImport, PASSWORD_PROOF, type Proof } from '../transaction/proof.ts'
import type { StepResult } from '../transaction/step-result.ts'
import type { Transaction } from '../transaction/transaction.ts'
import type { SendStep } from './send-step.ts'
import { buildStateStep, type StateFields } from './upstream-step.ts'

export interface CredentialsDeps {
  readonly sendStep: SendStep
  /** Whether the login that was typed is the one that Okta names. */
  readonly isSameLogin: (typed: string, named: unknown) => boolean
  /** When all calls of a step that begins now must have ended. */
  readonly deadline: () => number
}

/**
 * Sends what shows a credential only where Okta awaits it. The holder of an imported state token can move the transaction at Okta at
 * any time; so until a credential was accepted here, Okta is asked for the state first, whatever the record says.
 */
export async function sendIfAwaited(
  asked: { before: Transaction; handle: string; operation: string; fields: StateFields },
  client: Client,
  deps: CredentialsDeps,
  send: (before: Transaction, deadline?: number) => Promise<StepResult>,
): Promise<StepResult> {
  const { before, handle, operation, fields } = asked
  if (!isUnverifiedImport(before)) return send(before)
  const deadline = deps.deadline() // for both calls: the step lock does not last for two
  const state = await deps.sendStep(before, handle, buildStateStep(before, fields, client, deadline), client)
  if (state.after === undefined || !awaitsCredential(operation, state.status)) return state
  return send(state.after, deadline)
}

/** Credentials say who the user is only where Okta awaits them: in another status it may not look at them at all. */
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
  const proof = awaited ? passwordOf(body.username, before, deps) : undefined
  const step = { ...buildStateStep(before, body, client, deadline), proof }
  const result = await deps.sendStep(named, handle, step, client)
  const { after } = result
  // credentials that were not accepted say nothing about whose transaction this is
  if (after === named) return { ...result, after: before }
  return after?.credentialAccepted === false
    ? { ...result, after: { ...after, login: before.login } }
    : result
}

/** In a transaction that may be another's, the answer has to name the user whose password was shown. */
function passwordOf(
  login: string | undefined,
  before: Transaction,
  { isSameLogin }: Pick<CredentialsDeps, 'isSameLogin'>,
): Proof {
  return login !== undefined && isUnverifiedImport(before)
    ? { ...PASSWORD_PROOF, matchesUser: (user) => isSameLogin(login, user?.profile.login) }
    : PASSWORD_PROOF
}
