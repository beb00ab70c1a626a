import { z } from 'zod'
import { openEnum } from '../open-values.ts'

/**
 * Parts of Okta's objects. They keep all their members, so each may have others than those listed.
 */

const LINK_NAMES = [
  'verify',
  'poll',
  'activate',
  'redirect',
  'original',
  'authenticate',
  'answer',
  'unlock',
  'skip',
  'changePassword',
  'resetPassword',
  'password',
  'sms',
  'call',
  'email',
  'push',
] as const

const linkName = openEnum(LINK_NAMES, {
  id: 'LinkName',
  description:
    'What the step does. `poll`: wait and post the handle again. `redirect`, `original`: navigate there. Otherwise post the fields of the step.',
})

export const link = z
  .looseObject({
    href: z.string().meta({
      description:
        'An absolute URL, to be used unchanged: an operation of this API, or a page, image or script.',
    }),
    name: linkName.optional(),
    title: z.string().optional().meta({
      description: 'The name of another site. The page navigates to the link, whatever its hints say.',
    }),
    type: z.string().optional().meta({ description: 'The media type of an image or script.' }),
    hints: z.looseObject({ allow: z.array(z.string()).optional() }).optional(),
  })
  .meta({ id: 'Link' })

export const handle = z
  .string()
  .regex(/^00[\w-]{43}$/)
  .meta({
    id: 'Handle',
    description: 'A handle, useless without the device cookie of the browser that received it.',
  })

export const expiresAt = z.iso.datetime().meta({
  description: 'When the transaction expires. Every step extends it.',
  examples: ['2026-11-21T10:05:00.000Z'],
})

/** Removed from every response. */
export const never = z
  .never()
  .optional()
  .meta({ override: { not: {} }, description: 'Never present.' })

export const factorResult = openEnum(
  [
    'WAITING',
    'CHALLENGE',
    'REJECTED',
    'TIMEOUT',
    'CANCELLED',
    'ERROR',
    'FAILED',
    'SUCCESS',
    'PASSCODE_REPLAYED',
    'TIME_WINDOW_EXCEEDED',
  ],
  {
    id: 'FactorResult',
    description: 'Why the factor is not verified yet. `WAITING`: poll. The others end the challenge.',
  },
)
