import type { Json } from './json.ts'

/** A policy without what it has from its group, and its rule. */
export interface NewPolicy {
  readonly policy: Json & { readonly type: PolicyType }
  readonly conditions: Json
  readonly rule: Json
}

export const POLICY_TYPES = ['OKTA_SIGN_ON', 'PASSWORD'] as const
export type PolicyType = (typeof POLICY_TYPES)[number]

export type PromptMode = 'ALWAYS' | 'SESSION' | 'DEVICE'

/** It asks for a factor. */
export function promptPolicy(mode: PromptMode): NewPolicy {
  const signon = {
    access: 'ALLOW',
    requireFactor: true,
    factorPromptMode: mode,
    rememberDeviceByDefault: false,
    ...(mode === 'ALWAYS' ? {} : { factorLifetime: 15 }),
    session: { usePersistentCookie: false, maxSessionIdleMinutes: 120, maxSessionLifetimeMinutes: 0 },
  }
  return {
    policy: { type: 'OKTA_SIGN_ON' },
    conditions: {},
    rule: { type: 'SIGN_ON', actions: { signon } },
  }
}

const ACTIVE = { status: 'ACTIVE' }
const ALLOW = { access: 'ALLOW' }

/**
 * Users may change and recover the password, once it has this age. Members as in Okta's reference
 * (okta-developer-docs, reference/api/policy, "Password Policy", as of 2022; in @468de9c5,
 * public/docs/api/postman/policy.json).
 */
export function passwordPolicy(minAgeMinutes: number): NewPolicy {
  const complexity = {
    minLength: 8,
    minLowerCase: 1,
    minUpperCase: 1,
    minNumber: 1,
    minSymbol: 0,
    excludeUsername: true,
  }
  const password = {
    complexity,
    age: { maxAgeDays: 0, expireWarnDays: 0, minAgeMinutes, historyCount: 0 },
    lockout: { maxAttempts: 10, autoUnlockMinutes: 0, showLockoutFailures: true },
  }
  const factors = {
    okta_email: { ...ACTIVE, properties: { recoveryToken: { tokenLifetimeMinutes: 60 } } },
    okta_sms: ACTIVE,
    okta_call: ACTIVE,
    recovery_question: { ...ACTIVE, properties: { complexity: { minLength: 4 } } },
  }
  return {
    policy: { type: 'PASSWORD', settings: { password, recovery: { factors } } },
    conditions: { authProvider: { provider: 'OKTA' } },
    rule: {
      type: 'PASSWORD',
      actions: { passwordChange: ALLOW, selfServicePasswordReset: ALLOW, selfServiceUnlock: ALLOW },
    },
  }
}
