import type { Request } from 'express'
import type { z } from 'zod'
import { BrokerError, invalidField, notFound, temporarilyUnavailable } from '../errors.ts'
import { routesOf } from '../http/operation.ts'
import { getRequestContext } from '../http/request-context.ts'
import type { Route } from '../http/routes.ts'
import type { AuditFields } from '../observability/audit-events.ts'
import type { Logger } from '../observability/logger.ts'
import { auditFields, type Session } from '../session/session.ts'
import type { Groups, LookupResult } from './groups.ts'
import type { LookupOptions } from './lists/group-cache.ts'
import { DEFAULT_LIMIT, PAM_OPERATIONS } from './pam-operations.ts'
import { createLookupPresenter } from './present-lookup.ts'
import { isUuid } from './upstream/group.ts'

/** Finds the session of a request and extends it. Throws `noSession` if there is none. */
export type RequireSession = (req: Request) => Promise<Session>

export interface PamRoutesOptions {
  readonly groups: Groups
  readonly requireSession: RequireSession
  readonly log: Logger
}

/** Concurrent lookups of one user in this process: enough for several tabs that load at once. */
const MAX_CONCURRENT_PER_USER = 100

export function createPamRoutes({ groups, requireSession, log }: PamRoutesOptions): Route[] {
  const present = createLookupPresenter()
  const limitPerUser = createLimitPerUser()

  const lookup = (
    operation: AuditFields<'group_lookup'>['operation'],
    find: (session: Session, req: Request) => Promise<LookupResult>,
  ): Route['handle'] =>
    async function handleLookup(req, res) {
      res.setHeader('Cache-Control', 'private, no-cache')
      const session = await requireSession(req)
      const audit = (outcome: { status: number; ageMs?: number; errorCode?: string }) =>
        log.audit('group_lookup', { ...auditFields(req, session), operation, ...outcome })
      try {
        const result = await limitPerUser(session, () => find(session, req))
        audit({ status: 200, ageMs: Math.round(result.ageMs) })
        present(req, res, result)
      } catch (error) {
        if (error instanceof BrokerError) audit({ status: error.status, errorCode: error.code })
        throw error
      }
    }

  return routesOf(PAM_OPERATIONS, {
    getAccess: lookup('me', (session, req) =>
      groups.me(session, lookupOptions(req, parseQuery(PAM_OPERATIONS.getAccess.query, req))),
    ),
    listGroups: lookup('list', async (session, req) => {
      const query = parseQuery(PAM_OPERATIONS.listGroups.query, req)
      const { limit = DEFAULT_LIMIT, search, role, sort, cursor } = query
      return groups.list(session, { search, role, sort, limit, cursor }, lookupOptions(req, query))
    }),
    getGroup: lookup('one', async (session, req) => {
      const options = lookupOptions(req, parseQuery(PAM_OPERATIONS.getGroup.query, req))
      const { id } = req.params
      if (typeof id !== 'string' || !isUuid(id)) throw notFound('group (Group)')
      return groups.one(session, id, options)
    }),
  })
}

/** Without this limit, one user could use up the capacity for lookups while PAM is slow (`load-shedding.ts`). */
function createLimitPerUser() {
  const running = new Map<string, number>()

  return async function limitPerUser<T>({ userId }: Session, find: () => Promise<T>): Promise<T> {
    const count = running.get(userId) ?? 0
    if (count >= MAX_CONCURRENT_PER_USER)
      throw temporarilyUnavailable(1, new Error('too many lookups of one user'))
    running.set(userId, count + 1)
    try {
      return await find()
    } finally {
      const left = (running.get(userId) ?? 1) - 1
      if (left > 0) running.set(userId, left)
      else running.delete(userId)
    }
  }
}

/** The same paths, if `PAM_BASE_URL` is not set: 404. */
export function createPamNotConfiguredRoutes(): Route[] {
  return Object.values(PAM_OPERATIONS).map((operation) => ({
    ...operation,
    handle() {
      throw notFound('access service: not configured')
    },
  }))
}

/** `Age` has whole seconds, so data of 30.9 s still satisfies `maxAge=30`. */
function lookupOptions(req: Request, { maxAge }: { maxAge?: number | undefined }): LookupOptions {
  const { requestId } = getRequestContext(req)
  return { requestId, maxAgeMs: maxAge === undefined ? undefined : maxAge * 1000 + 999 }
}

const MAX_NAME_CHARS = 100 // in an error

/** @throws E0000001 that names every parameter that is wrong or unknown */
function parseQuery<Schema extends z.ZodObject>(schema: Schema, { query }: Request): z.output<Schema> {
  const isEmptyField = (name: string) => query[name] === '' && Object.hasOwn(schema.shape, name) // as forms send it
  const given = Object.entries(query).filter(([name]) => !isEmptyField(name))
  const parsed = schema.safeParse(Object.fromEntries(given))
  if (parsed.success) return parsed.data
  throw invalidField(
    ...parsed.error.issues.flatMap((issue) =>
      issue.code === 'unrecognized_keys'
        ? issue.keys.map((name) => `${name.slice(0, MAX_NAME_CHARS)}: unknown parameter`)
        : `${issue.path.join('.')}: ${issue.message}`,
    ),
  )
}
