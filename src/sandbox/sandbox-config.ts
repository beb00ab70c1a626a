import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'

export const FACTOR_TYPES = [
  'question',
  'sms',
  'call',
  'email',
  'token:software:totp',
  'push',
  'token',
  'token:hardware',
  'webauthn',
  'u2f',
  'password',
  'web',
  'token:hotp',
  'signed_nonce',
  'claims_provider',
  'assertion:saml2',
  'assertion:oidc',
] as const

const factor = z.strictObject({
  type: z.enum(FACTOR_TYPES),
  provider: z.string().default('OKTA'),
  /** Software tokens: base32, as an authenticator app takes it. */
  secret: z.string().optional(),
  /** A code that was used already is accepted again (for load tests). */
  allowReplay: z.boolean().default(false),
  credentialId: z.string().optional(),
  phoneNumber: z.string().optional(),
  email: z.string().optional(),
  question: z.string().optional(),
  answer: z.string().optional(),
  authenticatorName: z.string().optional(),
  /** Tells the security keys of a user apart who has several. */
  key: z.string().optional(),
  /** Default: the provider. */
  vendorName: z.string().optional(),
  /** Push: how many polls are answered WAITING before the phone answers by itself, and how it does. */
  answersAfterPolls: z.int().min(0).optional(),
  answers: z.enum(['approve', 'reject', 'cancel', 'error']).default('approve'),
  timeoutAfterPolls: z.int().min(1).optional(),
  numberChallenge: z.boolean().default(false),
})

const user = z.strictObject({
  login: z.string().min(1),
  firstName: z.string(),
  lastName: z.string(),
  locale: z.string().default('en_US'),
  timeZone: z.string().default('Europe/Berlin'),
  /** Missing: created without credentials. */
  password: z.string().optional(),
  passwordChanged: z.iso.datetime().default('2026-03-02T08:00:00.000Z'),
  passwordExpired: z.boolean().default(false),
  passwordExpiresInDays: z.int().optional(),
  lockedOut: z.boolean().default(false),
  /** Signs in with an activation token the first time. */
  activation: z.boolean().default(false),
  passwordPolicy: z.string().default('default'),
  /** null: no sign-on policy is assigned, so no factor is ever asked for or offered. */
  signOnPolicy: z.string().nullable().default('password-only'),
  enrollmentPolicy: z.string().nullable().default('everything'),
  recoveryAllowed: z.boolean().default(true),
  recoveryPhone: z.string().optional(),
  recoveryQuestion: z.strictObject({ question: z.string(), answer: z.string() }).optional(),
  factors: z.array(factor).default([]),
  /** One sentence: what happens when this user signs in. */
  description: z.string(),
})

const passwordPolicy = z.strictObject({
  complexity: z.strictObject({
    minLength: z.int(),
    minLowerCase: z.int(),
    minUpperCase: z.int(),
    minNumber: z.int(),
    minSymbol: z.int(),
    excludeUsername: z.boolean(),
  }),
  warnDays: z.int(),
  maxWrongPasswords: z.int().min(1),
  showLockout: z.boolean(),
  /** false: a locked-out user cannot recover the account, an administrator has to unlock it. */
  selfServiceUnlock: z.boolean().default(true),
})

const signOnPolicy = z.strictObject({
  /** When a factor is asked for. `new-device` goes by context.deviceToken. */
  mfa: z.enum(['never', 'always', 'device', 'session', 'new-device']),
  deny: z.boolean().default(false),
  deniedAddresses: z.array(z.string()).default([]),
  allowRememberDevice: z.boolean().default(false),
  /** 0: for ever. */
  rememberDeviceLifetimeInMinutes: z.int().min(0).default(0),
  rememberDeviceByDefault: z.boolean().default(false),
})

const offeredFactor = z.strictObject({
  type: z.enum(FACTOR_TYPES),
  provider: z.string().default('OKTA'),
  enrollment: z.enum(['OPTIONAL', 'REQUIRED']).default('OPTIONAL'),
})

const app = z.strictObject({
  id: z.string(),
  name: z.string(),
  label: z.string(),
  protocol: z.enum(['SAML2.0', 'WSFED', 'SWA']),
  issuerUri: z.string(),
  /** The app's custom sign-in page; without it there is no SP-initiated step-up. */
  signInPage: z.string().optional(),
})

/** An origin as browsers write it: no path, no default port. */
const KEY_ORIGIN = /^https?:\/\/[a-z0-9.[\]:-]+?(:(\d{1,5}|\*))?$/

const sandboxConfig = z.strictObject({
  apiTokens: z.array(z.string().min(1)).min(1),
  /** API tokens of administrators without the rights for this API: every call is 403 E0000006. */
  tokensWithoutRights: z.array(z.string().min(1)).default([]),
  /** Socket addresses whose X-Forwarded-For counts, when they also bring a valid API token. */
  gatewayAddresses: z.array(z.string()),
  rateLimits: z.strictObject({
    windowSeconds: z.int().min(1),
    trustedPerWindow: z.int().min(1),
    publicPerWindow: z.int().min(1),
  }),
  lifetimes: z.strictObject({
    transactionMinutes: z.number().positive(),
    sessionTokenMinutes: z.number().positive(),
    recoveryTokenMinutes: z.number().positive(),
    activationTokenMinutes: z.number().positive(),
    mfaSessionMinutes: z.number().positive(),
  }),
  limits: z.strictObject({
    wrongCodes: z.int().min(1),
    resendSeconds: z.number().min(0),
    pushPolls: z.int().min(1),
  }),
  /** Where pages are told that Duo's frame is. null: at the sandbox itself, over plain HTTP. Nothing answers at the default. */
  duoHost: z.string().nullable().default('api-sandbox.duosecurity.example'),
  /** Phone numbers that look right but that no carrier knows: E0000098, unless `profile.validatePhone` is false. */
  invalidPhoneNumbers: z.array(z.string()).default([]),
  /** Origins of pages that security keys may be used on; the port may be `*`. The org's own address always is one. */
  trustedOrigins: z.array(z.string().regex(KEY_ORIGIN)),
  /** Where another identity provider sends the browser back to: the portal's sign-in page. */
  signInPage: z.url({ protocol: /^https?$/ }).default('http://localhost:8080/'),
  /** `factors` is what recordings show; `factor` is the form of the written specification. */
  factorListName: z.enum(['factors', 'factor']),
  newDeviceMail: z.boolean(),
  /** `type:provider` of each factor that is switched on. */
  enabledFactors: z.array(z.string()),
  questions: z.record(z.string(), z.string()),
  passwordPolicies: z.record(z.string(), passwordPolicy),
  signOnPolicies: z.record(z.string(), signOnPolicy),
  enrollmentPolicies: z.record(z.string(), z.array(offeredFactor)),
  apps: z.array(app),
  users: z.array(user).min(1),
  pam: z.unknown(),
})

export type SandboxConfig = z.output<typeof sandboxConfig>
export type UserConfig = SandboxConfig['users'][number]
export type FactorConfig = UserConfig['factors'][number]
export type FactorType = (typeof FACTOR_TYPES)[number]
export type AppConfig = SandboxConfig['apps'][number]
export type PasswordPolicy = SandboxConfig['passwordPolicies'][string]
export type SignOnPolicy = SandboxConfig['signOnPolicies'][string]

const POLICIES = [
  ['passwordPolicies', 'passwordPolicy'],
  ['signOnPolicies', 'signOnPolicy'],
  ['enrollmentPolicies', 'enrollmentPolicy'],
] as const

/** Throws with every field that is wrong, also a policy that a user names and nobody defines. */
export function parseSandboxConfig(input: unknown): SandboxConfig {
  const config = sandboxConfig.parse(input)
  const missing = config.users.flatMap((one) =>
    POLICIES.map(([kind, key]) => ({ name: one[key], known: config[kind] }))
      .filter(({ name, known }) => name !== null && !Object.hasOwn(known, name))
      .map(({ name }) => `${one.login} names the policy ${name}, which is not defined`),
  )
  if (missing.length > 0) throw new Error(missing.join('; '))
  return config
}

/** The project's config/sandbox.json: two levels up, from src/sandbox/ and build/sandbox/ alike. */
export const defaultConfigPath = fileURLToPath(new URL('../../config/sandbox.json', import.meta.url))

export function loadSandboxConfig(path: string = defaultConfigPath): SandboxConfig {
  const data: unknown = JSON.parse(readFileSync(path, 'utf8'))
  return parseSandboxConfig(data)
}
