import type { Request } from 'express'
import type { z } from 'zod'
import { BrokerError, invalidField, notFound, temporarilyUnavailable } from '../errors.ts'
import { routesOf } from '../http/operation.ts'
import { getRequestContext } from '../http/request-context.ts'
import type { Route } from '../http/routes.ts'
import type { AuditFields } from '../observability/audit-events.ts'
import type { Logger } from '../observability/logger.ts'
import { auditFields, type Session } from '../session/session.ts'
import type { Groups, Lookup, Shown } from './groups.ts'
import { DEFAULT_LIMIT, PAM_OPERATIONS } from './pam-operations.ts'
import { createLookupPresenter } from './present-lookup.ts'
import { isUuid } from './upstream/group.ts'

/** Finds the session of a request and extends it; throws `noSession` if there is none. */
export type RequireSession = (req: Request) => Promise<Session>

export interface PamRoutesOptions {
  readonly groups: Groups
  readonly requireSession: RequireSession
  readonly log: Logger
}

/** As the audit event names it. */
type LookupName = AuditFields<'group_lookup'>['operation']

/** Concurrent lookups of one user in this process: enough for some tabs that load at once. */
const MAX_OF_ONE_USER = 100

export function createPamRoutes({ groups, requireSession, log }: PamRoutesOptions): Route[] {
  const present = createLookupPresenter()
  const limitPerUser = createLimitPerUser()

  const lookup = (
    operation: LookupName,
    find: (session: Session, req: Request) => Promise<Shown>,
  ): Route['handle'] =>
    async function handleLookup(req, res) {
      res.setHeader('Cache-Control', 'private, no-cache')
      const session = await requireSession(req)
      const audit = (outcome: { status: number; ageMs?: number; errorCode?: string }) =>
        log.audit('group_lookup', { ...auditFields(req, session), operation, ...outcome })
      try {
        const shown = await limitPerUser(session, () => find(session, req))
        audit({ status: 200, ageMs: Math.round(shown.ageMs) })
        present(req, res, shown)
      } catch (error) {
        if (error instanceof BrokerError) audit({ status: error.status, errorCode: error.code })
        throw error
      }
    }

  return routesOf(PAM_OPERATIONS, {
    getAccess: lookup('me', (session, req) =>
      groups.me(session, lookupOf(req, parseQuery(PAM_OPERATIONS.getAccess.query, req))),
    ),
    listGroups: lookup('list', async (session, req) => {
      const query = parseQuery(PAM_OPERATIONS.listGroups.query, req)
      const { limit = DEFAULT_LIMIT, search, role, sort, cursor } = query
      return groups.list(session, { search, role, sort, limit, cursor }, lookupOf(req, query))
    }),
    getGroup: lookup('one', async (session, req) => {
      const wanted = lookupOf(req, parseQuery(PAM_OPERATIONS.getGroup.query, req))
      const { id } = req.params
      if (typeof id !== 'string' || !isUuid(id)) throw notFound('group (Group)')
      return groups.one(session, id, wanted)
    }),
  })
}

/** Without this limit, one user could take all places for lookups while PAM is slow. */
function createLimitPerUser() {
  const running = new Map<string, number>()

  return async function limitPerUser<T>({ userId }: Session, find: () => Promise<T>): Promise<T> {
    const others = running.get(userId) ?? 0
    if (others >= MAX_OF_ONE_USER) throw temporarilyUnavailable(1, new Error('too many lookups of one user'))
    running.set(userId, others + 1)
    try {
      return await find()
    } finally {
      const left = (running.get(userId) ?? 1) - 1
      if (left > 0) running.set(userId, left)
      else running.delete(userId)
    }
  }
}

/** If PAM is not configured (DESIGN §3). */
export function createPamNotConfiguredRoutes(): Route[] {
  return Object.values(PAM_OPERATIONS).map((operation) => ({
    ...operation,
    handle() {
      throw notFound('access service: not configured')
    },
  }))
}

/** `maxAge` is compared with `Age`, which has whole seconds. */
function lookupOf(req: Request, { maxAge }: { maxAge?: number | undefined }): Lookup {
  const { requestId } = getRequestContext(req)
  return { requestId, maxAgeMs: maxAge === undefined ? undefined : maxAge * 1000 + 999 }
}

/** A longer name of a parameter is cut in the error. */
const MAX_NAME = 100

/** @throws E0000001 that names every parameter that is wrong or unknown */
function parseQuery<Schema extends z.ZodObject>(schema: Schema, { query }: Request): z.output<Schema> {
  const isEmptyField = (name: string) => query[name] === '' && Object.hasOwn(schema.shape, name) // of a form
  const given = Object.entries(query).filter(([name]) => !isEmptyField(name))
  const parsed = schema.safeParse(Object.fromEntries(given))
  if (parsed.success) return parsed.data
  throw invalidField(
    ...parsed.error.issues.flatMap((issue) =>
      issue.code === 'unrecognized_keys'
        ? issue.keys.map((name) => `${name.slice(0, MAX_NAME)}: unknown parameter`)
        : `${issue.path.join('.')}: ${issue.message}`,
    ),
  )
}
