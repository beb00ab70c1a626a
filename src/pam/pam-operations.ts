import { z } from 'zod'
import { type ErrorCode, isErrorCode } from '../http/error-object.ts'
import { type ErrorsByStatus, jsonResponse, type Operation, type Operations } from '../http/operation.ts'
import { isCursor, SORTS } from './lists/directory-page.ts'
import { ROLES } from './roles.ts'
import { GroupAttributes } from './upstream/group.ts'
import { PAM_ERROR_POLICIES } from './upstream/pam-errors.ts'

export const DEFAULT_LIMIT = 100
const MAX_LIMIT = 1000
const MAX_TEXT = 200
const MAX_CURSOR = 1000

const ONE_TEXT = `must occur once, with at most ${MAX_TEXT} characters`
const INVALID_CURSOR = 'must be a nextCursor of this list with the same sort'
const text = z.string({ error: ONE_TEXT }).max(MAX_TEXT, { error: ONE_TEXT, abort: true })

const isLimit = (value: string) => /^\d{1,4}$/.test(value) && Number(value) >= 1 && Number(value) <= MAX_LIMIT

interface JsonSchema {
  readonly jsonSchema: object
}

/** A string of digits for the parser, an integer in the OpenAPI document. */
function asInteger(jsonSchema: { maxLength?: number; pattern?: string }, limits: object): void {
  delete jsonSchema.maxLength
  delete jsonSchema.pattern
  Object.assign(jsonSchema, { type: 'integer', ...limits })
}

const maxAge = text
  .regex(/^\d{1,9}$/, { error: 'must be a whole number of seconds' })
  .transform(Number)
  .optional()
  .meta({
    description:
      'Maximum age of the data in seconds, as in `Age`; 503 if the data is older and cannot be read again.',
    override: ({ jsonSchema }: JsonSchema) => asInteger(jsonSchema, { minimum: 0 }),
  })

/** Strict: without an error, a mistyped filter would return an unfiltered list. */
const lookupQuery = z.strictObject({ maxAge })

const directoryQuery = z
  .strictObject({
    maxAge,
    search: text.optional().meta({ description: 'Part of a name, case-insensitive.' }),
    role: z
      .enum(ROLES, { error: `must be one of ${ROLES.join(', ')}` })
      .optional()
      .meta({ description: 'Only groups that grant this role.' }),
    limit: text
      .refine(isLimit, { error: `must be a whole number from 1 to ${MAX_LIMIT}` })
      .transform(Number)
      .optional()
      .meta({
        description: 'Number of groups on a page.',
        override: ({ jsonSchema }: JsonSchema) =>
          asInteger(jsonSchema, { minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT }),
      }),
    sort: z
      .enum(SORTS, { error: `must be one of ${SORTS.join(', ')}` })
      .default('id')
      .meta({
        description:
          '`name`: case-insensitive, by code units, in the same order in every locale; equal names by id.',
      }),
    cursor: z
      .string({ error: INVALID_CURSOR })
      .max(MAX_CURSOR, { error: INVALID_CURSOR, abort: true })
      .optional()
      .meta({ description: 'The `nextCursor` of the previous page, with the same `sort`.' }),
  })
  .refine(({ sort, cursor }) => cursor === undefined || isCursor(sort, cursor), {
    error: INVALID_CURSOR,
    path: ['cursor'],
  })

const groupFields = {
  id: z.guid(),
  name: z.string().min(1),
  roles: z.array(z.string()).meta({ description: 'As in PAM, which may add new roles.' }),
  ...GroupAttributes.shape,
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

/** With `maxAge`, every failure but an unknown user becomes a 503 if there is no data that is new enough. */
const ERRORS: ErrorsByStatus = {
  400: ['E0000001'],
  404: ['E0000007', ...codesOf(404)],
  502: codesOf(502),
  503: codesWith((status) => status !== 404),
  504: codesOf(504),
}

/** Access to the directory is decided on fresh data. Without it, the answer is 503 as well. */
const DIRECTORY_ERRORS: ErrorsByStatus = { ...ERRORS, 403: ['E0000006'], 404: ['E0000007'] }

const lookup = (schema: z.ZodType) =>
  ({
    method: 'GET',
    tag: 'Access',
    loadKind: 'pam',
    cookies: { session: 'required' },
    headers: ['If-None-Match'],
    responses: {
      200: jsonResponse('Found', schema, ['ETag', 'Age']),
      304: { description: 'Unchanged: the ETag is one of `If-None-Match`.', headers: ['ETag', 'Age'] },
    },
  }) as const satisfies Partial<Operation>

const WITHOUT_PAM = 'Returns 404 if `PAM_BASE_URL` is not set.'
const DIRECTORY_ONLY = `Only for users whom \`PAM_DIRECTORY\` allows. ${WITHOUT_PAM}`

export const PAM_OPERATIONS = {
  getAccess: {
    ...lookup(access),
    path: '/api/v1/pam/me',
    summary: 'The user’s own groups and roles',
    description: WITHOUT_PAM,
    query: lookupQuery,
    errors: ERRORS,
  },
  listGroups: {
    ...lookup(groupPage),
    path: '/api/v1/pam/groups',
    summary: 'The team’s groups',
    description: DIRECTORY_ONLY,
    query: directoryQuery,
    errors: DIRECTORY_ERRORS,
  },
  getGroup: {
    ...lookup(groupWithMeta),
    path: '/api/v1/pam/groups/:id',
    summary: 'One group of the team',
    description: `With its attributes, such as \`unix_gid\`, if PAM shows them. ${DIRECTORY_ONLY}`,
    params: groupParam,
    query: lookupQuery,
    errors: DIRECTORY_ERRORS,
  },
} as const satisfies Operations
