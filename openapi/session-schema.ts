import { z } from 'zod'

export const publicId = z
  .uuid()
  .meta({ description: 'A public id, safe to show. It is not the id in the cookie.' })
const link = (...allow: readonly string[]) =>
  z.strictObject({ href: z.url(), hints: z.strictObject({ allow: z.array(z.enum(allow)) }) })
export const time = (description: string) => z.iso.datetime().meta({ description })

const text = z.string().nullish()

export const profile = z
  .record(z.string(), z.unknown())
  .and(z.looseObject({ login: text, firstName: text, lastName: text, locale: text, timeZone: text }))
  .meta({ id: 'Profile', description: 'As in Okta’s Authentication API, which may add fields.' })

export const session = z
  .strictObject({
    id: publicId,
    userId: z.string().min(1),
    login: z.string(),
    profile,
    status: z.literal('ACTIVE'),
    createdAt: time('When the session was opened.'),
    authenticatedAt: time('When the user last signed in.'),
    expiresAt: time('When the session ends, even if it is in use.'),
    idleExpiresAt: time('When the session ends if it is not used.'),
    amr: z.array(z.string()).meta({
      description: 'Authentication methods, by their names in RFC 8176.',
      examples: [['pwd', 'otp', 'mfa']],
    }),
    deviceBound: z.boolean().meta({
      description:
        'Whether the session is bound to a key of the browser (`DEVICE_BOUND_SESSIONS`). The browser registers it shortly after the sign-in.',
    }),
    _links: z.strictObject({ self: link('GET', 'DELETE'), refresh: link('POST'), user: link('GET') }),
  })
  .meta({ id: 'Session' })
