import { recoveryNotAvailable } from '../errors.ts'
import type { StepAudit } from './audit.ts'
import type { Client } from './browser/client.ts'
import type { Recovery, RecoveryType } from './recovery/recovery.ts'
import { carriesApiToken, ENTRY_OPERATIONS } from './sign-in/operations.ts'
import type { Step } from './sign-in/run-step.ts'
import type { PrimaryBody, RecoveryBody, RecoveryTokenBody } from './sign-in/schemas.ts'
import type { SendStep } from './sign-in/send-step.ts'
import type { Attempt } from './throttling/attempts.ts'
import { ACTIVATION_PROOF, PASSWORD_PROOF } from './transaction/credentials.ts'
import type { StepResult } from './transaction/step-result.ts'
import type { Transaction } from './transaction/transaction.ts'
import { PRIMARY } from './upstream/authn-upstream.ts'

export interface EntryStepsDeps {
  readonly sendStep: SendStep
  readonly recovery: Pick<Recovery, 'start'>
  readonly recoveryFrom: RecoveryFrom
  readonly audit: Pick<StepAudit, 'started' | 'recoveryStarted'>
}

/** Which browsers may start a recovery: `RECOVERY`. */
export type RecoveryFrom = 'on' | 'known-devices' | 'off'

export type EntrySteps = ReturnType<typeof createEntrySteps>

/** The steps that begin a transaction. Those in one are in transaction-steps.ts. */
export function createEntrySteps({ sendStep, recovery, recoveryFrom, audit }: EntryStepsDeps) {
  return {
    /** Primary authentication with credentials or an activation token. */
    primary(body: PrimaryBody, client: Client) {
      const { username: login, token } = body
      const operation = 'primary'
      const [kind, proof] =
        token === undefined ? (['password', PASSWORD_PROOF] as const) : (['token', ACTIVATION_PROOF] as const)
      const call = {
        path: PRIMARY,
        body,
        bearsToken: token !== undefined,
        carriesApiToken: carriesApiToken(ENTRY_OPERATIONS.authenticate),
      }
      return entryStep([PRIMARY, body], { kind, operation, login }, (before, handle) => {
        audit.started(operation, login, client)
        return sendStep({ ...before, login }, handle, { operation, call, proof }, client)
      })
    },

    /** Forgotten password or locked account. */
    recovery(type: RecoveryType, body: RecoveryBody, client: Client) {
      const { username: login, factorType } = body
      const attempt: Attempt = {
        kind: 'recovery',
        operation: 'recovery',
        login,
        factorType,
        onlyKnownDevices: recoveryFrom === 'known-devices',
      }
      return entryStep([type, body], attempt, async (_before, handle) => {
        if (recoveryFrom === 'off') throw recoveryNotAvailable()
        return recovery.start(type, body, handle, client)
      })
    },

    /**
     * The token of a recovery email, which is never stored. Okta accepts it again until the
     * password is set (R6).
     */
    recoveryToken(body: RecoveryTokenBody, client: Client) {
      const operation = 'recovery_token'
      const { redeemRecoveryToken } = ENTRY_OPERATIONS
      const { path } = redeemRecoveryToken
      const call = { path, body, bearsToken: true, carriesApiToken: carriesApiToken(redeemRecoveryToken) }
      return entryStep([path, body], { kind: 'token', operation }, (before, handle) => {
        audit.recoveryStarted({ operation: 'token' }, undefined, client)
        const step = { operation, call, proof: undefined }
        return sendStep({ ...before, isRecovery: true }, handle, step, client)
      })
    },
  }
}

function entryStep(
  identity: readonly unknown[],
  attempt: Attempt,
  run: (before: Transaction, handle: string) => Promise<StepResult>,
): Step {
  return {
    handle: undefined,
    identity,
    attempt,
    plan: (before, handle) => ({ run: () => run(before, handle) }),
  }
}
