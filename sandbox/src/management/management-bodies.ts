import { z } from 'zod'

/** Bodies of the management API. As at Okta, unknown members are ignored. */
const name = z.string().min(1).max(255)

export const newUserBody = z.object({
  profile: z.object({
    login: z.email(),
    email: z.email(),
    firstName: name,
    lastName: name,
    secondEmail: z.email().nullish(),
    mobilePhone: z.string().nullish(),
  }),
  credentials: z
    .object({
      password: z.object({ value: z.string().min(1) }).optional(),
      recovery_question: z.object({ question: name, answer: name }).optional(),
    })
    .optional(),
})
export type NewUserBody = z.output<typeof newUserBody>

export const newFactorBody = z.discriminatedUnion('factorType', [
  z.object({
    factorType: z.literal('question'),
    provider: z.literal('OKTA'),
    profile: z.object({ question: name, answer: name }),
  }),
  z.object({
    factorType: z.literal('email'),
    provider: z.literal('OKTA'),
    profile: z.object({ email: z.email() }),
  }),
])

export const newEventHookBody = z.object({
  name,
  events: z.object({ type: z.literal('EVENT_TYPE'), items: z.array(z.string()).min(1) }),
  channel: z.object({
    type: z.literal('HTTP'),
    version: z.literal('1.0.0'),
    config: z.object({
      uri: z.url({ protocol: /^https?$/ }),
      authScheme: z.object({ type: z.literal('HEADER'), key: z.literal('authorization'), value: name }),
    }),
  }),
})

export const newGroupBody = z.object({ profile: z.object({ name }) })

const newPolicy = {
  name,
  priority: z.int().min(1).optional(),
  conditions: z.object({ people: z.object({ groups: z.object({ include: z.array(z.string()).min(1) }) }) }),
}

/**
 * The example of Okta's reference (okta-developer-docs, reference/api/policy, "Password Policy", as
 * of 2022; in @468de9c5, public/docs/api/postman/policy.json).
 */
const passwordSettings = z.object({
  password: z.object({
    complexity: z.object({
      minLength: z.int().min(4).max(30),
      minLowerCase: z.int().min(0),
      minUpperCase: z.int().min(0),
      minNumber: z.int().min(0),
      minSymbol: z.int().min(0),
      excludeUsername: z.boolean(),
    }),
    age: z.object({ minAgeMinutes: z.int().min(0), expireWarnDays: z.int().min(0) }),
    lockout: z.object({ maxAttempts: z.int().min(1), showLockoutFailures: z.boolean() }),
  }),
  recovery: z.object({
    factors: z.object({ okta_email: z.object({ status: z.enum(['ACTIVE', 'INACTIVE']) }) }),
  }),
})

export const newPolicyBody = z.discriminatedUnion('type', [
  z.object({ ...newPolicy, type: z.literal('OKTA_SIGN_ON') }),
  z.object({ ...newPolicy, type: z.literal('PASSWORD'), settings: passwordSettings }),
])
export type NewPolicyBody = z.output<typeof newPolicyBody>
export const policyType = z.enum(['OKTA_SIGN_ON', 'PASSWORD'])

const signOnRule = z.object({
  type: z.literal('SIGN_ON'),
  name,
  actions: z.object({
    signon: z.object({
      access: z.enum(['ALLOW', 'DENY']),
      requireFactor: z.boolean(),
      factorPromptMode: z.enum(['ALWAYS', 'SESSION', 'DEVICE']).optional(),
      rememberDeviceByDefault: z.boolean().default(false),
      factorLifetime: z.int().min(0).optional(),
    }),
  }),
})

const passwordRule = z.object({
  type: z.literal('PASSWORD'),
  name,
  actions: z.object({ selfServicePasswordReset: z.object({ access: z.enum(['ALLOW', 'DENY']) }) }),
})

export const newRuleBody = z.discriminatedUnion('type', [signOnRule, passwordRule])
export type NewRuleBody = z.output<typeof newRuleBody>

export const changePasswordBody = z.object({
  oldPassword: z.object({ value: z.string() }),
  newPassword: z.object({ value: z.string() }),
})
