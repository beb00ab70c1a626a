import { runSandbox } from './run-sandbox.ts'
import type { BrokerOptions, Sandbox, SandboxOptions, SandboxWithBroker } from './sandbox-api.ts'
import { parseOptions } from './sandbox-options.ts'

export type {
  BrokerOptions,
  DeliveryFaultRule,
  EnrollmentPolicyName,
  EventHookCall,
  EventHookOptions,
  FactorDetails,
  FactorName,
  FaultRule,
  KeyPage,
  Message,
  OtherName,
  PasswordPolicyName,
  Person,
  Sandbox,
  SandboxControl,
  SandboxOptions,
  SandboxWithBroker,
  SecurityKey,
  SignOnPolicyName,
} from './sandbox-api.ts'

/**
 * Starts a simulation of Okta's classic Authentication API and the PAM API in this process, on
 * 127.0.0.1; with `broker`, also Gatehouse in front of it. Rejects if an option is not valid (the
 * message names it) or a port is taken.
 */
export function startSandbox(
  options: SandboxOptions & { readonly broker: true | BrokerOptions },
): Promise<SandboxWithBroker>
export function startSandbox(options?: SandboxOptions & { readonly broker?: false }): Promise<Sandbox>
export async function startSandbox(
  options: SandboxOptions & { readonly broker?: boolean | BrokerOptions } = {},
): Promise<Sandbox | SandboxWithBroker> {
  const { port, ...parsed } = parseOptions(options)
  return runSandbox({ ...parsed, ports: parsed.broker ? { broker: port } : { authn: port } })
}
