import type { Sandbox } from 'gatehouse-sandbox/sandbox'

/**
 * Makes the sandbox a Classic Engine org until its next reset, whatever `SANDBOX_PIPELINE` says.
 * Only Classic Engine has step-up and `audience`
 * (docs/connect-your-okta-org.md#1-classic-engine-or-identity-engine).
 */
export function onClassicEngine<Org extends { readonly sandbox: Sandbox }>(org: Org): Org {
  org.sandbox.settings.pipeline = 'v1'
  return org
}
