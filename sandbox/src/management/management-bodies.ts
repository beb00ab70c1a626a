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

export const newPolicyBody = z.object({
  type: z.literal('OKTA_SIGN_ON'),
  name,
  conditions: z.object({ people: z.object({ groups: z.object({ include: z.array(z.string()).min(1) }) }) }),
})

export const newRuleBody = z.object({
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
export type NewRuleBody = z.output<typeof newRuleBody>
