import type { RecoveryFrom } from './recovery/plan-recovery.ts'
import { operationOf, type StepRequest } from './step/step-request.ts'
import type { Attempt } from './throttling/attempts.ts'

/**
 * The attempt of a step as far as its request tells; the plan knows more. undefined: Okta is not
 * called.
 */
export function attemptOf(
  request: StepRequest,
  { recoveryFrom }: { readonly recoveryFrom: RecoveryFrom },
): Attempt | undefined {
  switch (request.kind) {
    case 'sign-in': {
      const { username: login, token } = request.body
      return { kind: token === undefined ? 'password' : 'token', operation: 'primary', login }
    }
    case 'recovery': {
      const { username: login, factorType } = request.body
      const onlyKnownDevices = recoveryFrom === 'known-devices'
      return { kind: 'recovery', operation: 'recovery', login, factorType, onlyKnownDevices }
    }
    case 'recovery-token':
      return { kind: 'token', operation: 'recovery_token' }
    case 'state':
      return { kind: 'call', operation: 'state' }
    case 'operation':
      return { kind: 'call', operation: operationOf(request).name }
    case 'redirect':
      return undefined
  }
}
