import { z } from 'zod'
import { ERROR_SHAPES } from './pam-errors.ts'

const time = z.iso.datetime({ offset: true })
const seconds = z.number().positive()

/** The roles of the API (pam-api.md, "Role"), and the one that real teams have beyond them. */
export const ROLES: readonly string[] = [
  'pam_admin',
  'resource_admin',
  'delegated_resource_admin',
  'security_admin',
  'delegated_security_admin',
  'end_user',
  'devops_admin',
]

export const groupSchema = z.strictObject({
  id: z.uuid(),
  name: z.string().min(1),
  roles: z.array(z.string().min(1)).default([]),
  /** Set: the group is deleted. The text goes out as it stands here. */
  deletedAt: time.optional(),
  federatedFromTeam: z.string().optional(),
  federationApprovedAt: time.optional(),
  /** The group's members may use servers that have lost their connection (disconnected mode). */
  disconnectedMode: z.boolean().default(false),
})

export const keySchema = z.strictObject({
  keyId: z.string().min(1),
  keySecret: z.string().min(1),
  serviceUser: z.string().min(1),
  expiresAt: time.optional(),
})

export const rateLimitSchema = z.strictObject({
  /** Requests a service user may make while its allowance is full. */
  limit: z.int().min(1),
  /** The time in which a whole allowance comes back. */
  periodSeconds: seconds,
  /** The allowance comes back in this many equal parts. */
  parts: z.int().min(1).default(1),
})

export const groupFormSchema = z.strictObject({
  /** What `deleted_at` is while a group lives. */
  activeDeletedAt: z.enum(['null', 'missing', 'empty', 'zero']).default('null'),
  /** Older deployments carry federated_from_team and federation_approved_at. */
  federation: z.boolean().default(false),
})

/** What a service user may do: all, nothing (authorization_error), or only its own things (forbidden_error). */
export const accessSchema = z.enum(['full', 'none', 'own'])

const pamConfig = z
  .strictObject({
    team: z.string().min(1),
    teamDisabled: z.boolean().default(false),
    tokenLifetimeSeconds: seconds.default(3600),
    /** The API is served under this path, as by a gateway; without it, at the root. */
    basePath: z
      .string()
      .regex(/^(\/[\w.~-]+)+$/)
      .optional(),
    /** The origin in pagination links; without it, the one the request came to. */
    linkOrigin: z.url({ protocol: /^https?$/ }).optional(),
    /** The largest page, and the default one. */
    pageSize: z.int().min(1).default(100),
    /** A team may hold this many living groups (quota_exceeded). */
    groupQuota: z.int().min(0).default(50_000),
    rateLimit: rateLimitSchema.prefault({ limit: 10_000, periodSeconds: 3600, parts: 60 }),
    errorShape: z.enum(ERROR_SHAPES).default('error'),
    groupForm: groupFormSchema.prefault({}),
    /** Paths, `{team}` filled in, that answer resource_deprecated. */
    deprecatedPaths: z.array(z.string().startsWith('/')).default([]),
    /** Tokens of servers that were deleted (server_authorization_revoked). */
    deletedServerTokens: z.array(z.string().min(1)).default([]),
    serviceUsers: z.record(z.string().min(1), z.strictObject({ access: accessSchema.default('full') })),
    keys: z.array(keySchema),
    groups: z.array(groupSchema),
    /** PAM user name → names of the groups that the user is in. */
    users: z.record(z.string().min(1), z.array(z.string().min(1))),
  })
  .superRefine((config, context) => {
    const names = new Set(config.groups.map((group) => group.name))
    const refuse = (path: (string | number)[], message: string) =>
      context.addIssue({ code: 'custom', path, message })
    for (const [user, groups] of Object.entries(config.users))
      for (const [at, name] of groups.entries())
        if (!names.has(name)) refuse(['users', user, at], `there is no group "${name}"`)
    for (const [at, key] of config.keys.entries())
      if (!Object.hasOwn(config.serviceUsers, key.serviceUser))
        refuse(['keys', at, 'serviceUser'], `there is no service user "${key.serviceUser}"`)
    if (names.size < config.groups.length) refuse(['groups'], 'two groups have one name')
  })

export type PamConfigInput = z.input<typeof pamConfig>
export type PamConfig = z.output<typeof pamConfig>
export type PamGroup = z.output<typeof groupSchema>
export type PamKey = z.output<typeof keySchema>
export type RateLimit = z.output<typeof rateLimitSchema>
export type GroupForm = z.output<typeof groupFormSchema>
export type Access = z.output<typeof accessSchema>

/** Checks the "pam" key of config/sandbox.json. @throws an Error that names every field that is wrong */
export function parsePamConfig(input: unknown): PamConfig {
  return parsed(pamConfig, input, 'pam')
}

/** @throws an Error that names every field of `what` that is wrong */
export function parsed<S extends z.ZodType>(schema: S, input: unknown, what: string): z.output<S> {
  const result = schema.safeParse(input)
  if (result.success) return result.data
  const lines = result.error.issues.map(
    (issue) => `${[what, ...issue.path.map(String)].join('.')}: ${issue.message}`,
  )
  throw new Error(lines.join('; '))
}
