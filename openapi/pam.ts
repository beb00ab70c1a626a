import { z } from 'zod'
import { APP_OPERATIONS, DEFAULT_LIMIT, MAX_LIMIT, PAM_OPERATIONS } from '../src/pam/pam-operations.ts'
import { ROLES } from '../src/pam/roles.ts'
import { PAM_ERROR_POLICIES } from '../src/pam/upstream/pam-errors.ts'
import { type Description, describe, type ErrorsByStatus, jsonResponse } from './description.ts'
import { type ErrorCode, isErrorCode } from './error-object.ts'

/** A string of digits for the parser, an integer in the document. */
const integer = (limits: object, description: string) =>
  z
    .string()
    .optional()
    .meta({ description, override: { type: 'integer', ...limits } })

const { search, role: grantedRole, sort, cursor } = PAM_OPERATIONS.listGroups.query.shape
const directoryQuery = z.strictObject({
  search: search.meta({ description: 'Part of a name, case-insensitive.' }),
  role: grantedRole.meta({ description: 'Only groups that grant this role.' }),
  limit: integer({ minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT }, 'Number of groups on a page.'),
  sort: sort.meta({
    description:
      '`name`: case-insensitive, by code units, in the same order in every locale; equal names by id.',
  }),
  cursor: cursor.meta({ description: 'The `nextCursor` of the previous page, with the same `sort`.' }),
})

const groupFields = {
  id: z.guid(),
  name: z.string().min(1),
  roles: z.array(z.string()).meta({ description: 'As in PAM, which may add new roles.' }),
}
const group = z.strictObject(groupFields).meta({ id: 'Group' })

const meta = z
  .strictObject({
    fetchedAt: z.iso.datetime().meta({ description: 'When the data was read from PAM.' }),
    stale: z.boolean().meta({
      description: 'The list is no longer fresh: a refresh is running, or failed. `fetchedAt` shows its age.',
    }),
  })
  .meta({ id: 'LookupMeta' })

const role = z.enum(ROLES).meta({ id: 'Role' })

const access = z
  .strictObject({
    user: z.string().min(1).meta({ description: 'The PAM user name.' }),
    groups: z.array(group),
    roles: z.array(role).meta({ description: 'All known roles that the groups grant.' }),
    maximalRoles: z.array(role).meta({
      description:
        'The roles that no other role of the user includes. Roles of Advanced Server Access and `devops_admin` include none and are included in none.',
    }),
    unknownRoles: z.array(z.string()).meta({ description: 'Roles that the broker does not know.' }),
    meta,
  })
  .meta({ id: 'Access' })

const groupPage = z
  .strictObject({
    list: z.array(group),
    nextCursor: z
      .string()
      .nullable()
      .meta({ description: 'The `cursor` of the next page; null on the last one.' }),
    meta,
  })
  .meta({ id: 'GroupPage' })

const groupWithMeta = z.strictObject({ ...groupFields, meta }).meta({ id: 'GroupWithMeta' })

const groupParam = z.object({
  id: z.guid().meta({ description: 'The group’s id.', examples: ['bd300cc8-8e91-5aa5-8fa6-e2287db02835'] }),
})

function codesWith(isIncluded: (status: number) => boolean): ErrorCode[] {
  const rules = Object.values(PAM_ERROR_POLICIES).filter(({ status }) => isIncluded(status))
  return [...new Set<string>(rules.map(({ code }) => code))].filter(isErrorCode).sort()
}
const codesOf = (wanted: number) => codesWith((status) => status === wanted)

const ERRORS: ErrorsByStatus = {
  400: ['E0000001'],
  404: ['E0000007', ...codesOf(404)],
  502: codesOf(502),
  503: codesOf(503),
  504: codesOf(504),
}

/**
 * Access is decided on fresh data. If that cannot be read, every failure but an unknown user
 * becomes a 503.
 */
const DIRECTORY_ERRORS: ErrorsByStatus = {
  ...ERRORS,
  403: ['E0000006'],
  404: ['E0000007'],
  503: codesWith((status) => status !== 404),
}

const lookup = (schema: z.ZodType) =>
  ({
    tag: 'Access',
    cookies: { session: 'required' },
    headers: ['If-None-Match'],
    responses: {
      200: jsonResponse('Found', schema, ['ETag', 'Age']),
      304: { description: 'Unchanged: the ETag is one of `If-None-Match`.', headers: ['ETag', 'Age'] },
    },
  }) as const satisfies Partial<Description>

const WITHOUT_PAM = 'Returns 404 if `PAM_BASE_URL` is not set.'
const DIRECTORY_ONLY = `Only for users whom \`PAM_DIRECTORY\` allows. ${WITHOUT_PAM}`

export const PAM = describe(PAM_OPERATIONS, {
  getAccess: {
    ...lookup(access),
    summary: 'The user’s own groups and roles',
    description: WITHOUT_PAM,
    errors: ERRORS,
  },
  listGroups: {
    ...lookup(groupPage),
    summary: 'The team’s groups',
    description: DIRECTORY_ONLY,
    query: directoryQuery,
    errors: DIRECTORY_ERRORS,
  },
  getGroup: {
    ...lookup(groupWithMeta),
    summary: 'One group of the team',
    description: DIRECTORY_ONLY,
    params: groupParam,
    errors: DIRECTORY_ERRORS,
  },
})

const WITH_TOKEN = 'For backends of the portal. Returns 404 if `APP_TOKENS` is not set.'
const lookupOfApp = (schema: z.ZodType) =>
  ({ ...lookup(schema), cookies: {}, hasAppToken: true, errors: ERRORS }) as const

export const APP = describe(APP_OPERATIONS, {
  appGetAccess: {
    ...lookupOfApp(access),
    summary: 'A user’s groups and roles',
    description: WITH_TOKEN,
    params: z.object({
      login: z
        .string()
        .min(1)
        .meta({
          description: 'As in the session: `login` of `/api/v1/sessions/me`, percent-encoded.',
          examples: ['ada@example.com'],
        }),
    }),
  },
  appListGroups: {
    ...lookupOfApp(groupPage),
    summary: 'The team’s groups',
    description: `${WITH_TOKEN} \`PAM_DIRECTORY\` does not apply.`,
    query: directoryQuery,
  },
  appGetGroup: {
    ...lookupOfApp(groupWithMeta),
    summary: 'One group of the team',
    description: `${WITH_TOKEN} \`PAM_DIRECTORY\` does not apply.`,
    params: groupParam,
  },
})
