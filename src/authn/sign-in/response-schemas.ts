import { z } from 'zod'
import { FACTOR_TYPE_NAMES } from '../../factor-types.ts'

/** Responses to a browser. Okta's objects keep all their members, so a schema requires only what the broker ensures. */
const link = z
  .looseObject({
    href: z.string().optional().meta({
      description:
        'An absolute URL, to be used unchanged: an operation of this API, or a page, image or script.',
    }),
    name: z.string().optional(),
    type: z.string().optional(),
    hints: z.looseObject({ allow: z.array(z.string()).optional() }).optional(),
  })
  .meta({ id: 'Link' })

const links = z.record(z.string(), z.union([link, z.array(link)])).meta({
  id: 'Links',
  description: 'The offered steps, by name: `next`, `prev`, `cancel`, `skip`, `resend`, and others.',
})

const handle = z
  .string()
  .regex(/^00[\w-]{43}$/)
  .meta({
    id: 'Handle',
    description: 'A handle, useless without the device cookie of the browser that received it.',
  })

/** Removed from every response. */
const never = z
  .never()
  .optional()
  .meta({ override: { not: {} }, description: 'Never present.' })

const userProfile = z.looseObject({
  login: z.string().nullish(),
  firstName: z.string().nullish(),
  lastName: z.string().nullish(),
  locale: z.string().nullish(),
  timeZone: z.string().nullish(),
})

const embedded = z
  .looseObject({
    user: z
      .looseObject({ id: z.string().optional(), profile: userProfile.optional() })
      .optional()
      .meta({ description: 'The user who signs in.' }),
    factors: z
      .unknown()
      .optional()
      .meta({
        description: `The factors to choose from, each with its own \`_links\` and \`factorType\`: ${FACTOR_TYPE_NAMES.map((name) => `\`${name}\``).join(', ')}. New types may appear.`,
      }),
    factor: z.unknown().optional().meta({ description: 'The factor in use.' }),
    policy: z
      .unknown()
      .optional()
      .meta({ description: 'Rules for a new password, and whether devices may be remembered.' }),
    target: z.unknown().optional().meta({ description: 'Step-up: the app.' }),
    authentication: z.unknown().optional().meta({ description: 'Step-up: the app’s protocol.' }),
  })
  .meta({ id: 'Embedded' })

const transactionFields = {
  stateToken: handle.optional().meta({
    description: 'The handle. Send it with every further step. It stays the same for the whole transaction.',
  }),
  expiresAt: z
    .unknown()
    .optional()
    .meta({
      description: 'When the transaction expires, in ISO 8601. Every step extends it.',
      examples: ['2026-11-21T10:05:00.000Z'],
    }),
  sessionToken: handle.optional().meta({
    description:
      'Only with `SUCCESS`, if `SSO_REDIRECTS` is set: the SSO token, a handle for `/login/sessionCookieRedirect`.',
  }),
  recoveryToken: never,
  relayState: z.unknown().optional().meta({ description: 'As the client sent it.' }),
  type: z.unknown().optional().meta({ description: '`SESSION_STEP_UP` if this is a step-up.' }),
  factorResult: z
    .unknown()
    .optional()
    .meta({
      description: 'Why a factor is not verified yet.',
      examples: ['WAITING', 'REJECTED', 'TIMEOUT', 'CHALLENGE'],
    }),
  factorType: z.unknown().optional(),
  recoveryType: z
    .unknown()
    .optional()
    .meta({ examples: ['PASSWORD', 'UNLOCK', 'ACCOUNT_ACTIVATION'] }),
  _embedded: embedded.optional(),
  _links: links.optional(),
}

export const transactionResponse = z
  .looseObject({
    status: z
      .string()
      .min(1)
      .meta({
        description:
          'The state of the sign-in. `SUCCESS` with a session cookie in `Set-Cookie` has opened a session. A page can rely on `_links` alone, which list the next steps. New values may appear.',
        examples: [
          'SUCCESS',
          'UNAUTHENTICATED',
          'PASSWORD_EXPIRED',
          'PASSWORD_WARN',
          'PASSWORD_RESET',
          'MFA_ENROLL',
          'MFA_ENROLL_ACTIVATE',
          'MFA_REQUIRED',
          'MFA_CHALLENGE',
          'RECOVERY',
          'RECOVERY_CHALLENGE',
          'LOCKED_OUT',
        ],
      }),
    ...transactionFields,
  })
  .meta({
    id: 'Transaction',
    description: 'The authentication transaction object, without Okta’s tokens.',
  })

/** A cancelled sign-in has no status. */
export const cancelResponse = z
  .looseObject({ status: z.unknown().optional(), ...transactionFields })
  .meta({ id: 'CancelledTransaction' })

export const emptyResponse = z.strictObject({}).meta({ id: 'Empty' })

/** Made from one template for known and unknown users. */
export const recoveryResponse = z
  .strictObject({
    status: z.literal('RECOVERY_CHALLENGE'),
    stateToken: handle.optional().meta({
      description: 'The handle. Missing for EMAIL, because the link in the email continues the recovery.',
    }),
    expiresAt: z.iso.datetime().optional(),
    relayState: z.string().optional().meta({ description: 'As the client sent it.' }),
    factorResult: z.literal('WAITING').optional(),
    factorType: z.enum(['EMAIL', 'SMS', 'call']).meta({ description: 'As Okta spells it.' }),
    recoveryType: z.enum(['PASSWORD', 'UNLOCK']),
    _links: links.optional(),
  })
  .meta({ id: 'RecoveryStarted' })

export const questionsResponse = z
  .array(z.looseObject({ question: z.string(), questionText: z.string() }))
  .meta({ id: 'SecurityQuestions' })

const pathParams = {
  id: z
    .string()
    .min(1)
    .meta({
      description: 'The factor’s id, or its type, as in the link.',
      examples: ['uftExampleFactor0001'],
    }),
  type: z
    .string()
    .min(1)
    .meta({ description: '`SMS` or `CALL`, as in the link.', examples: ['SMS'] }),
  uid: z
    .string()
    .min(1)
    .meta({ description: 'The user’s id, as in the link.', examples: ['00uExampleUser00001'] }),
  token: handle.meta({
    description: 'The image’s handle, as in the link.',
    examples: ['00example_handle_not_a_secret_000000000000000'],
  }),
} as const

/** The schema of the parameters in a path such as `/factors/:id`. */
export function paramsOf(path: string): z.ZodObject {
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name)
  return z.object(Object.fromEntries(Object.entries(pathParams).filter(([name]) => names.includes(name))))
}
