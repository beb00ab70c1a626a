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

/** What a phone can answer to a push. */
export const PUSH_ANSWERS = ['approve', 'reject', 'cancel', 'error'] as const

const factorFields = z.strictObject({
  type: z.enum(FACTOR_TYPES),
  provider: z.string().default('OKTA'),
  /** Software tokens: the shared secret. */
  secret: z
    .string()
    .regex(/^[A-Z2-7]+=*$/i, 'must be base32')
    .optional(),
  /** Accepts used codes again, for load tests. */
  allowReplay: z.boolean().default(false),
  credentialId: z.string().optional(),
  phoneNumber: z.string().optional(),
  email: z.string().optional(),
  question: z.string().optional(),
  answer: z.string().optional(),
  /**
   * Other identity providers: where the browser is after their answer. `okta`: at Okta, which has
   * completed the sign-in for a session of its own (seen in gimme-aws-creds). `portal`: on the
   * portal's page, which continues the sign-in. Which one, and when, is unproven (F5).
   */
  returnsTo: z.enum(['okta', 'portal']).default('okta'),
  /**
   * RSA tokens: the next code leads to the prompt for a new PIN, or for the code after it (S11).
   */
  tokenMode: z.enum(['new-pin', 'next-code']).optional(),
  authenticatorName: z.string().optional(),
  /** Distinguishes several security keys of one user. */
  key: z.string().optional(),
  /** Default: the provider. */
  vendorName: z.string().optional(),
  /** Push: after this many WAITING polls, the phone answers with `answers`. */
  answersAfterPolls: z.int().min(0).optional(),
  answers: z.enum(PUSH_ANSWERS).default('approve'),
  timeoutAfterPolls: z.int().min(1).optional(),
  numberChallenge: z.boolean().default(false),
})

const REQUIRED_FIELDS = new Map<FactorType, readonly (keyof FactorConfig)[]>([
  ['sms', ['phoneNumber']],
  ['call', ['phoneNumber']],
  ['question', ['question', 'answer']],
])

export const factorSchema = factorFields.superRefine((factor, context) => {
  for (const field of REQUIRED_FIELDS.get(factor.type) ?? [])
    if (!factor[field])
      context.addIssue({ code: 'custom', path: [field], message: `is required for ${factor.type}` })
})

export const userSchema = z.strictObject({
  login: z
    .string()
    .min(1)
    .regex(/^\S(.*\S)?$/, 'must not begin or end with a space'),
  firstName: z.string(),
  lastName: z.string(),
  locale: z.string().default('en_US'),
  timeZone: z.string().default('Europe/Berlin'),
  /** Missing: the user has no password yet. */
  password: z.string().min(1).optional(),
  /**
   * Primary and secondary email: a recovery finds the user by them too. Default of `email`: the
   * login.
   */
  email: z.string().optional(),
  secondaryEmail: z.string().optional(),
  passwordChanged: z.iso.datetime().default('2026-03-02T08:00:00.000Z'),
  /** Instead of `passwordChanged`: before the sandbox's start or reset. */
  passwordChangedMinutesAgo: z.number().min(0).optional(),
  passwordExpired: z.boolean().default(false),
  passwordBreached: z.boolean().default(false),
  passwordExpiresInDays: z.int().min(0).optional(),
  /**
   * The password is managed by a different application: the name of its site, and where it is
   * changed (S8).
   */
  passwordSite: z.strictObject({ title: z.string(), url: z.url({ protocol: /^https?$/ }) }).optional(),
  lockedOut: z.boolean().default(false),
  /** The user must first sign in with an activation token. */
  activation: z.boolean().default(false),
  /** No administrator has activated the user yet. */
  staged: z.boolean().default(false),
  /** A social or federated user: another identity provider has the password. */
  federated: z.boolean().default(false),
  passwordPolicy: z.string().default('default'),
  /** null: no sign-on policy is assigned, so no factor is required or offered. */
  signOnPolicy: z.string().nullable().default('password-only'),
  enrollmentPolicy: z.string().nullable().default('everything'),
  recoveryAllowed: z.boolean().default(true),
  recoveryPhone: z.string().optional(),
  recoveryQuestion: z.strictObject({ question: z.string(), answer: z.string() }).optional(),
  factors: z.array(factorSchema).default([]),
  /** The password is a temporary one that has expired: the sign-in is 401 E0000064. */
  temporaryPasswordExpired: z.boolean().default(false),
  /** The user lives in Active Directory: an agent checks and changes the password. */
  activeDirectory: z
    .strictObject({
      /**
       * false: an expired password cannot be changed at the org, so the sign-in fails like one with
       * a wrong password.
       */
      mayChangePassword: z.boolean().default(true),
    })
    .optional(),
  /** One sentence about the sign-in of this user. */
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
  /** A younger password cannot be recovered, nor changed (`refusals.youngPassword`). */
  minAgeMinutes: z.number().min(0).default(0),
  maxWrongPasswords: z.int().min(1),
  showLockout: z.boolean(),
  /** false: users cannot recover the password. */
  selfServiceReset: z.boolean().default(true),
  /** false: only an administrator can unlock a locked account. */
  selfServiceUnlock: z.boolean().default(true),
})

const ipAddress = z.union([z.ipv4(), z.ipv6()], { error: 'must be an IP address' })

export const networkZone = z.strictObject({
  name: z.string().min(1),
  /** A request that comes through one of these addresses is inside the zone. */
  gateways: z.array(ipAddress).default([]),
  /** For a request that comes through one of these addresses, the hop before it counts. */
  proxies: z.array(ipAddress).default([]),
})

/** When a factor is required. `new-device` is decided by context.deviceToken. */
const mfa = z.enum(['never', 'always', 'device', 'session', 'new-device'])

/** The first rule that matches replaces the policy's `mfa` and `deny`. */
const zoneRule = z.strictObject({
  /** Whether the rule is for requests that are inside one of the zones, or outside all of them. */
  network: z.enum(['inside', 'outside']),
  /** Names of zones, or all zones of the org. */
  zones: z.union([z.literal('all'), z.array(z.string()).min(1)]),
  mfa: mfa.default('never'),
  deny: z.boolean().default(false),
})

const signOnPolicy = z.strictObject({
  mfa,
  deny: z.boolean().default(false),
  rules: z.array(zoneRule).default([]),
  allowRememberDevice: z.boolean().default(false),
  /** 0: no end. */
  rememberDeviceLifetimeInMinutes: z.int().min(0).default(0),
  rememberDeviceByDefault: z.boolean().default(false),
})

const offeredFactor = z.strictObject({
  type: z.enum(FACTOR_TYPES),
  provider: z.string().default('OKTA'),
  enrollment: z.enum(['OPTIONAL', 'REQUIRED']).default('OPTIONAL'),
  /** As in a factor. */
  returnsTo: factorFields.shape.returnsTo,
  /** Default: the provider. */
  vendorName: z.string().optional(),
})

const app = z.strictObject({
  id: z.string(),
  name: z.string(),
  label: z.string(),
  protocol: z.enum(['SAML2.0', 'WSFED', 'SWA']),
  issuerUri: z.string(),
  /** The app's custom sign-in page; required for an SP-initiated step-up. */
  signInPage: z.string().optional(),
})

/** A serialized origin: no path, no default port. The port may be `*`. */
const TRUSTED_ORIGIN = /^https?:\/\/[a-z0-9.[\]:-]+?(:(\d{1,5}|\*))?$/

const sandboxConfig = z.strictObject({
  apiTokens: z.array(z.string().min(1)).min(1),
  /**
   * API tokens of administrators without permission for this API: every request is 403 E0000006.
   */
  tokensWithoutRights: z.array(z.string().min(1)).default([]),
  /** API tokens of administrators with every permission, for the management API. */
  adminTokens: z.array(z.string().min(1)).default([]),
  /** The org's IP zones. X-Forwarded-For is used only if the caller's address is in one of them. */
  zones: z.array(networkZone).default([]),
  rateLimits: z.strictObject({
    windowSeconds: z.int().min(1),
    trustedPerWindow: z.int().min(1),
    publicPerWindow: z.int().min(1),
    /**
     * The part of `trustedPerWindow` that an API token may use, over all addresses. Missing: no
     * such limit.
     */
    tokenShare: z
      .strictObject({
        share: z.number().positive().max(1),
        /**
         * Whether the headers show this limit or the org's. Okta's behavior is unproven
         * (docs/unproven.md L3).
         */
        inHeaders: z.boolean(),
      })
      .optional(),
    /** Requests that the org processes at once. */
    concurrent: z.int().min(1).default(75),
    /** Sign-ins of one user name in a second. Okta allows 4; missing: unlimited. */
    signInsPerUserPerSecond: z.int().min(1).optional(),
  }),
  lifetimes: z.strictObject({
    transactionMinutes: z.number().positive(),
    /** Of a recovery or an activation, until the password is set. */
    recoveryTransactionMinutes: z.number().positive().default(5.5),
    sessionTokenMinutes: z.number().positive(),
    recoveryTokenMinutes: z.number().positive(),
    activationTokenMinutes: z.number().positive(),
    mfaSessionMinutes: z.number().positive(),
  }),
  limits: z.strictObject({
    wrongCodes: z.int().min(1),
    /** The last of these wrong recovery answers locks the user out. */
    wrongRecoveryAnswers: z.int().min(1).default(5),
    /** Between two text messages or calls. */
    resendSeconds: z.number().min(0),
    emailResendSeconds: z.number().min(0).default(5),
    pushPolls: z.int().min(1),
  }),
  /**
   * Names under which other machines and containers may use the control routes; localhost and
   * addresses always may.
   */
  hosts: z.array(z.string()).default([]),
  /**
   * The host of Duo's frame in responses. null: the sandbox itself, over plain HTTP. The default
   * host does not exist.
   */
  duoHost: z.string().nullable().default('api-sandbox.duosecurity.example'),
  /**
   * Well-formed phone numbers that no carrier knows: E0000098, unless `profile.validatePhone` is
   * false.
   */
  invalidPhoneNumbers: z.array(z.string()).default([]),
  /**
   * The org's Trusted Origins: pages that may use security keys. The org's own origin is always
   * trusted.
   */
  trustedOrigins: z.array(z.string().regex(TRUSTED_ORIGIN)),
  /**
   * Trusted Origins of the type Redirect, to which the org sends a browser. Default:
   * `trustedOrigins`.
   */
  redirectOrigins: z.array(z.string().regex(TRUSTED_ORIGIN)).optional(),
  /**
   * Relying party ids that security keys may have instead of the page's host. Whether Okta accepts
   * another one is unproven (F6).
   */
  relyingPartyIds: z.array(z.string()).default([]),
  /**
   * true: a security key is refused unless the request's `Origin` header is trusted too. Whether
   * Okta does so is unknown.
   */
  requiresOriginHeader: z.boolean().default(false),
  /**
   * The portal's sign-in page, to which recovery emails lead, and identity providers send the
   * browser back.
   */
  signInPage: z.url({ protocol: /^https?$/ }).default('http://localhost:8080/'),
  /** Recorded responses have `factors`; the specification has `factor`. */
  factorListName: z.enum(['factors', 'factor']),
  newDeviceMail: z.boolean(),
  /** `type:provider` of each enabled factor. */
  enabledFactors: z.array(z.string()),
  questions: z.record(z.string(), z.string()),
  passwordPolicies: z.record(z.string(), passwordPolicy),
  signOnPolicies: z.record(z.string(), signOnPolicy),
  enrollmentPolicies: z.record(z.string(), z.array(offeredFactor)),
  apps: z.array(app),
  users: z.array(userSchema).min(1),
  /** The org's engine: `v1` is Classic Engine, `idx` Identity Engine. */
  pipeline: z.enum(['v1', 'idx']).default('v1'),
  /** Only with `idx`. */
  identityEngine: z
    .strictObject({
      /** false: the device token has no effect. */
      globalSessionPolicy: z.boolean().default(true),
      /**
       * false: users can recover their accounts only in ways that this API does not have, so they
       * are refused.
       */
      classicRecovery: z.boolean().default(true),
      redeemsSessionTokens: z.boolean().default(true),
    })
    .prefault({}),
  /** How the org codes and words its refusals. */
  refusals: z
    .strictObject({
      /** The language of the brand, which error texts follow. Codes and field names stay. */
      language: z.enum(['en', 'de']).default('en'),
      /** The code for a wrong user name or password. */
      wrongPassword: z.enum(['E0000004', 'E0000207']).default('E0000004'),
      /**
       * A new password breaks rules: one cause with all rules, one cause for each broken rule, or
       * no `errorCauses` at all.
       */
      passwordRules: z.enum(['all-rules', 'broken-rules', 'no-causes']).default('all-rules'),
      /**
       * A change of a password that is younger than the policy's minimum age: the cause names the
       * age alone, or all rules, or an expired password may be changed at any age. Which one it is
       * at Okta, nobody has seen (S7).
       */
      youngPassword: z.enum(['age', 'all-rules', 'allowed-if-expired']).default('age'),
    })
    .prefault({}),
  /**
   * The agent of Active Directory: `slow` looks like a wrong password, the last two are 502
   * E0000240 and 504 E0000241.
   */
  directoryAgent: z.enum(['connected', 'slow', 'timed-out', 'disconnected']).default('connected'),
  /** Zones that block access: 403 with a page, before anything else. Policies do not use them. */
  blockedZones: z.array(networkZone).default([]),
  /**
   * Addresses that ThreatInsight blocks: 403 E0000006 at primary authentication, before the
   * password is checked.
   */
  suspectedAddresses: z.array(z.string()).default([]),
  pam: z.unknown(),
})

export type SandboxConfig = z.output<typeof sandboxConfig>
export type UserConfig = SandboxConfig['users'][number]
export type FactorConfig = z.output<typeof factorFields>
export type FactorType = (typeof FACTOR_TYPES)[number]
export type AppConfig = SandboxConfig['apps'][number]
export type PasswordPolicy = SandboxConfig['passwordPolicies'][string]
export type NetworkZone = SandboxConfig['zones'][number]
export type SignOnPolicy = SandboxConfig['signOnPolicies'][string]

const POLICIES = [
  ['passwordPolicies', 'passwordPolicy'],
  ['signOnPolicies', 'signOnPolicy'],
  ['enrollmentPolicies', 'enrollmentPolicy'],
] as const

/** Throws an error that names all wrong fields, and all undefined policies and zones. */
export function parseSandboxConfig(input: unknown): SandboxConfig {
  const config = sandboxConfig.parse(input)
  const missing = [...undefinedPolicies(config), ...undefinedZones(config)]
  if (missing.length > 0) throw new Error(missing.join('; '))
  return config
}

function undefinedPolicies(config: SandboxConfig): string[] {
  return config.users.flatMap((user) =>
    POLICIES.map(([kind, key]) => ({ kind, name: user[key], names: Object.keys(config[kind]) }))
      .filter(({ name, names }) => name !== null && !names.includes(name))
      .map(
        ({ kind, name, names }) =>
          `${user.login} has the policy ${name}, which is not defined; ${kind}: ${names.join(', ')}`,
      ),
  )
}

function undefinedZones({ zones, signOnPolicies }: SandboxConfig): string[] {
  const defined = new Set(zones.map(({ name }) => name))
  return Object.entries(signOnPolicies).flatMap(([policy, { rules }]) =>
    rules
      .flatMap((rule) => (rule.zones === 'all' ? [] : rule.zones))
      .filter((name) => !defined.has(name))
      .map((name) => `the policy ${policy} has the zone ${name}, which is not defined`),
  )
}

/** Beside both `src/` and `dist/`. */
export const defaultConfigPath = fileURLToPath(new URL('../sandbox.json', import.meta.url))

export function loadSandboxConfig(path: string = defaultConfigPath): SandboxConfig {
  const data: unknown = JSON.parse(readFileSync(path, 'utf8'))
  return parseSandboxConfig(data)
}
