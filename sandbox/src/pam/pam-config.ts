import { z } from 'zod'
import { ERROR_SHAPES } from './pam-errors.ts'

const time = z.iso.datetime({ offset: true })
const seconds = z.number().positive()

const editionSchema = z.enum(['privileged-access', 'server-access'])

/**
 * The roles that a group can have (docs/conformance.md P-3). Okta's client lists `devops_admin`,
 * too.
 */
export const ROLES: Readonly<Record<Edition, readonly string[]>> = {
  'privileged-access': [
    'pam_admin',
    'resource_admin',
    'delegated_resource_admin',
    'security_admin',
    'delegated_security_admin',
    'end_user',
    'devops_admin',
  ],
  'server-access': ['access_admin', 'access_user', 'reporting_user'],
}

const roleSchema = z.enum(Object.values(ROLES).flat())

/** Any role, so that tests can simulate one that Okta adds later. */
export const groupSchema = z.strictObject({
  id: z.uuid(),
  name: z.string().min(1),
  roles: z.array(z.string().min(1)).default([]),
  /** Set if the group is deleted; sent unchanged. */
  deletedAt: time.optional(),
  federatedFromTeam: z.string().optional(),
  federationApprovedAt: time.optional(),
  disconnectedMode: z.boolean().default(false),
})

export const configuredGroupSchema = groupSchema.extend({ roles: z.array(roleSchema).default([]) })

export const keySchema = z.strictObject({
  keyId: z.string().min(1),
  keySecret: z.string().min(1),
  serviceUser: z.string().min(1),
  expiresAt: time.optional(),
})

export const rateLimitSchema = z.strictObject({
  /** Requests per period and service user. */
  limit: z.int().min(1),
  periodSeconds: seconds,
  /** The limit is replenished in this many equal parts per period. */
  parts: z.int().min(1).default(1),
})

export const groupFormSchema = z.strictObject({
  /** `deleted_at` of groups that are not deleted. */
  activeDeletedAt: z.enum(['null', 'missing', 'empty', 'zero']).default('null'),
  /** Adds federated_from_team and federation_approved_at, as Advanced Server Access does. */
  federation: z.boolean().default(false),
})

export const EMPTY_LISTS = ['null', 'array'] as const
export type EmptyLists = (typeof EMPTY_LISTS)[number]

export const GROUP_FORMS: Readonly<Record<Edition, GroupForm>> = {
  'privileged-access': { activeDeletedAt: 'null', federation: false },
  'server-access': { activeDeletedAt: 'zero', federation: true },
}

/**
 * A service user's access: full, none (authorization_error), or only its own resources
 * (forbidden_error).
 */
const accessSchema = z.enum(['full', 'none', 'own'])

const pamConfig = z
  .strictObject({
    team: z.string().min(1),
    teamDisabled: z.boolean().default(false),
    tokenLifetimeSeconds: seconds.default(3600),
    /** The path under which the API is served, as behind a gateway. Default: the root. */
    basePath: z
      .string()
      .regex(/^(\/[\w.~-]+)+$/)
      .optional(),
    /** The origin of pagination links. Default: the request's. */
    linkOrigin: z.url({ protocol: /^https?$/ }).optional(),
    /** The default and maximum page size. */
    pageSize: z.int().min(1).default(100),
    /** The maximum number of groups in the team (quota_exceeded). */
    groupQuota: z.int().min(0).default(50_000),
    rateLimit: rateLimitSchema.prefault({ limit: 10_000, periodSeconds: 3600, parts: 60 }),
    errorShape: z.enum(ERROR_SHAPES).default('error'),
    /**
     * How a list without elements is written. In Okta's own client, it may be null; nobody has
     * shown such a response.
     */
    emptyLists: z.enum(EMPTY_LISTS).default('null'),
    /**
     * Okta Privileged Access, or its predecessor, Advanced Server Access. It decides the form of
     * groups and their roles.
     */
    edition: editionSchema.default('privileged-access'),
    /** Default: the form of the edition. */
    groupForm: groupFormSchema.optional(),
    /** Paths that respond with resource_deprecated; may contain `{team}`. */
    deprecatedPaths: z.array(z.string().startsWith('/')).default([]),
    /** Tokens of deleted servers (server_authorization_revoked). */
    deletedServerTokens: z.array(z.string().min(1)).default([]),
    serviceUsers: z.record(z.string().min(1), z.strictObject({ access: accessSchema.default('full') })),
    keys: z.array(keySchema),
    groups: z.array(configuredGroupSchema),
    /** PAM user name → names of the user's groups. */
    users: z.record(z.string().min(1), z.array(z.string().min(1))),
  })
  .superRefine((config, context) => {
    const names = new Set(config.groups.map((group) => group.name))
    const addIssue = (path: (string | number)[], message: string) =>
      context.addIssue({ code: 'custom', path, message })
    for (const [user, groups] of Object.entries(config.users))
      for (const [index, name] of groups.entries())
        if (!names.has(name)) addIssue(['users', user, index], `there is no group "${name}"`)
    for (const [index, key] of config.keys.entries())
      if (!Object.hasOwn(config.serviceUsers, key.serviceUser))
        addIssue(['keys', index, 'serviceUser'], `there is no service user "${key.serviceUser}"`)
    if (names.size < config.groups.length) addIssue(['groups'], 'group names must be unique')
  })

export type PamConfigInput = z.input<typeof pamConfig>
export type PamConfig = z.output<typeof pamConfig>
export type PamGroup = z.output<typeof groupSchema>
export type PamKey = z.output<typeof keySchema>
export type RateLimit = z.output<typeof rateLimitSchema>
export type GroupForm = z.output<typeof groupFormSchema>
export type Edition = z.output<typeof editionSchema>
export type Access = z.output<typeof accessSchema>

/** Validates the "pam" key of sandbox/sandbox.json. @throws an Error that names all wrong fields */
export function parsePamConfig(input: unknown): PamConfig {
  return parseInput(pamConfig, input, 'pam')
}

/** @throws an Error that names all wrong fields, prefixed with `name` */
export function parseInput<S extends z.ZodType>(schema: S, input: unknown, name: string): z.output<S> {
  const result = schema.safeParse(input)
  if (result.success) return result.data
  const lines = result.error.issues.map(
    (issue) => `${[name, ...issue.path.map(String)].join('.')}: ${issue.message}`,
  )
  throw new Error(lines.join('; '))
}
