import { z } from 'zod'
import type { Session } from '../session/session.ts'

/** The PAM groups of a user, and every role that they give. */
export interface Access {
  readonly groups: readonly { readonly id: string; readonly name: string }[]
  readonly roles: readonly string[]
}

const REASONS = ['amr', 'age', 'role', 'group', 'bound'] as const

/** The rule that refuses a user, in `X-Auth-Request-Denied`. */
export type DeniedBy = (typeof REASONS)[number]

/** As the proxy passes it on: maybe empty. Anyone can write it, so another value counts as none. */
export const REASON = z.enum(REASONS).optional().catch(undefined)

/** The query of `/forward-auth` says how header values are encoded. */
export const HEADER_ENCODINGS = ['percent', 'utf-8'] as const

const REQUESTABLE = ['groups', 'roles', 'amr', 'email', 'name', 'jwt'] as const
const MAX_AGE_SECONDS = 31_536_000

const text = z.string({ error: 'must occur once' }).min(1, 'must not be empty')
const texts = z
  .union([text, z.array(text)], { error: 'must not be empty' })
  .transform((given) => [given].flat())
  .optional()

/** The rules that a user can satisfy by signing in again. */
export const PROOF_RULES = z.strictObject({
  amr: texts,
  maxAuthAge: text
    .regex(/^\d{1,8}$/, 'must be a whole number of seconds')
    .transform(Number)
    .refine((seconds) => seconds <= MAX_AGE_SECONDS, 'must be at most a year')
    .optional(),
})

/** The query of `/forward-auth`. Strict: a mistyped rule must not grant access. */
export const FORWARD_AUTH_RULES = z
  .strictObject({
    role: texts,
    group: texts,
    ...PROOF_RULES.shape,
    bound: text.pipe(z.literal('required', 'must be required')).optional(),
    showRoles: texts,
    showGroups: texts,
    headers: text
      .transform((names) => names.split(','))
      .pipe(z.array(z.enum(REQUESTABLE, `must be some of ${REQUESTABLE.join()}`)))
      .default([]),
    aud: text.optional(),
    encoding: text
      .pipe(z.enum(HEADER_ENCODINGS, `must be ${HEADER_ENCODINGS.join(' or ')}`))
      .default('percent'),
  })
  .refine(({ headers, aud }) => headers.includes('jwt') === (aud !== undefined), {
    error: 'belongs to headers=jwt, which needs it',
    path: ['aud'],
  })
  .refine(({ headers, showGroups }) => showGroups === undefined || headers.includes('groups'), {
    error: 'belongs to headers=groups',
    path: ['showGroups'],
  })
  .refine(({ headers, showRoles }) => showRoles === undefined || headers.includes('roles'), {
    error: 'belongs to headers=roles',
    path: ['showRoles'],
  })

/** The rules in the query of `/signin`. */
export type SignInRules = z.output<typeof PROOF_RULES> & {
  readonly reason?: DeniedBy | undefined
  /** The query is the one of the sign-in page, which sends the browser back. */
  readonly prompt?: 'login' | undefined
}

export type ForwardAuthRules = z.output<typeof FORWARD_AUTH_RULES>

export function needsAccess({ role, group, headers }: ForwardAuthRules): boolean {
  return role !== undefined || group !== undefined || headers.includes('groups') || headers.includes('roles')
}

/** Of `PROOF_RULES`, the one that the session does not satisfy. */
export function deniedByProof(
  { amr = [], maxAuthAge }: z.output<typeof PROOF_RULES>,
  session: Session,
  nowMs: number,
): DeniedBy | undefined {
  if (missingMethods({ amr }, session).length > 0) return 'amr'
  const isTooOld = maxAuthAge !== undefined && nowMs - session.authenticatedAtMs > maxAuthAge * 1000
  return isTooOld ? 'age' : undefined
}

/** Those that a rule `amr` wants and the session does not have. */
export function missingMethods(
  { amr = [] }: Pick<z.output<typeof PROOF_RULES>, 'amr'>,
  session: Session,
): readonly string[] {
  return amr.filter((method) => !session.amr.includes(method))
}

/**
 * Why the sign-in page must not lead back at once, if it must not. The rules of the query decide; a
 * rule that is not among them, as `reason` says, unless the browser comes from the sign-in page.
 */
export function deniedAtSignIn(query: SignInRules, session: Session, nowMs: number): DeniedBy | undefined {
  const { reason, prompt, amr, maxAuthAge } = query
  const denied = deniedByProof(query, session, nowMs)
  if (denied !== undefined || prompt === 'login') return denied
  const isMet = (reason === 'amr' && amr !== undefined) || (reason === 'age' && maxAuthAge !== undefined)
  return isMet ? undefined : reason
}

/** Of a session that is bound to a key of its browser. */
export function deniedByBinding({ bound }: ForwardAuthRules, { binding }: Session): DeniedBy | undefined {
  return bound === 'required' && binding === undefined ? 'bound' : undefined
}

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i

/**
 * A group is named by its id or its name. What looks like an id is one: a group could have another
 * group's id as its name.
 */
export function hasGroup({ groups }: Access, given: string): boolean {
  const isId = UUID.test(given)
  return groups.some(({ id, name }) => given === (isId ? id : name))
}

/** No parameter whose name begins with `show` changes who is let in. */
export function deniedByAccess({ role, group }: ForwardAuthRules, access: Access): DeniedBy | undefined {
  if (role?.some((name) => access.roles.includes(name)) === false) return 'role'
  return group?.some((given) => hasGroup(access, given)) === false ? 'group' : undefined
}
