import { z } from 'zod'

/** What the routes of this room answer. */
const publicId = z.uuid().meta({ description: 'A public id, safe to show; never the cookie’s.' })
const link = (...allow: readonly string[]) =>
  z.strictObject({ href: z.url(), hints: z.strictObject({ allow: z.array(z.enum(allow)) }) })
const time = (description: string) => z.iso.datetime().meta({ description })

const profile = z.record(z.string(), z.unknown()).meta({
  description: 'As the sign-in API says it: firstName, lastName, locale, timeZone, login.',
})

export const sessionAnswer = z
  .strictObject({
    id: publicId,
    userId: z.string().min(1),
    login: z.string(),
    profile,
    status: z.literal('ACTIVE'),
    createdAt: time('When it was opened.'),
    expiresAt: time('When it ends, however much it is used.'),
    idleExpiresAt: time('When it ends if it is not used.'),
    amr: z.array(z.string()).meta({
      description: 'Authentication methods by their names in RFC 8176.',
      examples: [['pwd', 'otp', 'mfa']],
    }),
    _links: z.strictObject({ self: link('GET', 'DELETE'), refresh: link('POST'), user: link('GET') }),
  })
  .meta({ id: 'Session' })

export const userAnswer = z
  .strictObject({
    id: z.string().min(1).meta({ description: 'The org’s id of this person.' }),
    status: z.literal('ACTIVE'),
    profile: profile.and(z.looseObject({ login: z.string() })),
  })
  .meta({ id: 'User', description: 'Who is signed in, in the form of the org’s users API.' })

export const sessionsAnswer = z
  .strictObject({
    sessions: z.array(
      z.strictObject({
        id: publicId,
        createdAt: time('When it was opened.'),
        lastSeenAt: time('When it was used last, to the minute.'),
        expiresAt: time('When it ends, however much it is used.'),
        current: z.boolean().meta({ description: 'The one that asks.' }),
        userAgent: z.string(),
      }),
    ),
  })
  .meta({ id: 'Sessions', description: 'One’s own living sessions, the newest first.' })

export const publicIdParam = z.object({
  publicId: publicId.meta({
    description: 'The id of one of one’s own sessions.',
    examples: ['4f7c7a3e-5d0b-4c1e-9a55-0c3f5f1f7a10'],
  }),
})
