import type { Org, Settings } from './org.ts'

/**
 * Whether the org supports a feature of the Authentication API
 * (docs/connect-your-okta-org.md#1-classic-engine-or-identity-engine): Classic Engine supports all
 * of them.
 */
export function isSupported({ settings }: Org, feature: keyof typeof ON_IDENTITY_ENGINE): boolean {
  return settings.pipeline === 'v1' || ON_IDENTITY_ENGINE[feature](settings)
}

const ON_IDENTITY_ENGINE = {
  /** `audience` and step-up. */
  apps: () => false,
  deviceToken: ({ globalSessionPolicy }: Settings) => globalSessionPolicy,
  recovery: ({ classicRecovery }: Settings) => classicRecovery,
  sessionToken: ({ redeemsSessionTokens }: Settings) => redeemsSessionTokens,
}
