import { z } from 'zod'
import type { PamDirectory } from '../pam/directory-access.ts'
import type { PamUserDomain } from '../pam/pam-user-name.ts'
import { domain, listOf, matching } from './plain-values.ts'

const prefix = matching(/^[A-Za-z0-9._~@+-]{0,64}$/, 'a prefix must be of letters, digits and . _ ~ @ + -')

/** `<domain>` or `<domain>=<prefix>`. */
const userDomain = z
  .string()
  .transform((text): PamUserDomain => {
    const [name = '', start = ''] = text.split(/=(.*)/)
    return { domain: name, prefix: start }
  })
  .pipe(z.object({ domain, prefix }))

const isUnique = (values: readonly string[]) => new Set(values).size === values.length

/**
 * Refuses mappings that could give users of two domains the same name. One prefix may be the
 * beginning of another one: the lookup tells them apart.
 */
export const userDomains = listOf(userDomain)
  .refine((all) => isUnique(all.map((each) => each.domain)), 'has the same domain twice')
  .refine(
    (all) => isUnique(all.map((each) => each.prefix.toLowerCase())),
    'two domains have the same prefix: their users would have the same PAM user',
  )

const rule = z
  .string()
  .regex(/^(role:[a-z][a-z0-9_]{0,63}|group:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i)
  .toLowerCase()

/** `none`, `all`, or rules. */
export const directory = z.union(
  [
    z.enum(['none', 'all']).transform((kind): PamDirectory => ({ kind })),
    listOf(rule).transform((rules): PamDirectory => {
      const named = (kind: string) =>
        rules.flatMap((each) => (each.startsWith(kind) ? each.slice(kind.length) : []))
      return { kind: 'rules', roles: named('role:'), groups: named('group:') }
    }),
  ],
  'must be none, all, or a list of role:<role> and group:<uuid>',
)
