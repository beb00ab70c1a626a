import { z } from 'zod'
import type { Operations } from '../http/route.ts'
import { parseCursor, SORTS } from './lists/directory-page.ts'
import { ROLES } from './roles.ts'

export const DEFAULT_LIMIT = 100
export const MAX_LIMIT = 1000
const MAX_TEXT = 200
const MAX_CURSOR = 1000

const ONE_TEXT = `must occur once, with at most ${MAX_TEXT} characters`
const INVALID_CURSOR = 'must be a nextCursor of this list with the same sort'
const text = z.string({ error: ONE_TEXT }).max(MAX_TEXT, { error: ONE_TEXT, abort: true })

const isLimit = (value: string) => /^\d{1,4}$/.test(value) && Number(value) >= 1 && Number(value) <= MAX_LIMIT

/** Strict: without an error, a mistyped filter would return an unfiltered list. */
const noQuery = z.strictObject({})

const directoryQuery = z
  .strictObject({
    search: text.optional(),
    role: z.enum(ROLES, { error: `must be one of ${ROLES.join(', ')}` }).optional(),
    limit: text
      .refine(isLimit, { error: `must be a whole number from 1 to ${MAX_LIMIT}` })
      .transform(Number)
      .default(DEFAULT_LIMIT),
    sort: z.enum(SORTS, { error: `must be one of ${SORTS.join(', ')}` }).default('id'),
    cursor: z
      .string({ error: INVALID_CURSOR })
      .max(MAX_CURSOR, { error: INVALID_CURSOR, abort: true })
      .optional(),
  })
  .refine(({ sort, cursor }) => cursor === undefined || parseCursor(sort, cursor) !== undefined, {
    error: INVALID_CURSOR,
    path: ['cursor'],
  })

const LOOKUP = { method: 'GET', kind: 'session-read' } as const
const APP_LOOKUP = { method: 'GET', kind: 'backend' } as const

/** Of a user in a browser. */
export const PAM_OPERATIONS = {
  getAccess: { ...LOOKUP, path: '/api/v1/pam/me', query: noQuery },
  listGroups: { ...LOOKUP, path: '/api/v1/pam/groups', query: directoryQuery },
  getGroup: { ...LOOKUP, path: '/api/v1/pam/groups/:id', query: noQuery },
} as const satisfies Operations

/** Of the portal's own backends, with a token. */
export const APP_OPERATIONS = {
  appGetAccess: { ...APP_LOOKUP, path: '/app/v1/pam/users/:login', query: noQuery },
  appListGroups: { ...APP_LOOKUP, path: '/app/v1/pam/groups', query: directoryQuery },
  appGetGroup: { ...APP_LOOKUP, path: '/app/v1/pam/groups/:id', query: noQuery },
} as const satisfies Operations
