import type { Request } from 'express'
import type { z } from 'zod'
import { BrokerError, notFound } from '../errors.ts'
import { getRequestContext } from '../http/request-context.ts'
import { checkQuery, type Route, routesOf } from '../http/routes.ts'
import type { AuditFields } from '../observability/audit-events.ts'
import type { Logger } from '../observability/logger.ts'
import { auditFields, type Session } from '../session/session.ts'
import type { Groups } from './groups.ts'
import { PAM_OPERATIONS } from './pam-operations.ts'
import { createLookupPresenter, type LookupResult } from './present-lookup.ts'

/** Finds the session of a request and extends it. Throws `noSession` if there is none. */
export type RequireSession = (req: Request) => Promise<Session>

export interface PamRoutesOptions {
  readonly groups: Groups
  readonly requireSession: RequireSession
  readonly log: Logger
}

export function createPamRoutes({ groups, requireSession, log }: PamRoutesOptions): Route[] {
  const present = createLookupPresenter()

  const lookup = <Schema extends z.ZodObject>(
    operation: AuditFields<'group_lookup'>['operation'],
    { query }: { readonly query: Schema },
    find: (
      session: Session,
      requestId: string,
      query: z.output<Schema>,
      req: Request,
    ) => Promise<LookupResult>,
  ): Route['handle'] =>
    async function handleLookup(req, res) {
      res.setHeader('Cache-Control', 'private, no-cache')
      const session = await requireSession(req)
      const audit = (outcome: { status: number; ageMs?: number; errorCode?: string }) =>
        log.audit('group_lookup', { ...auditFields(req, session), operation, ...outcome })
      try {
        const { requestId } = getRequestContext(req)
        const result = await find(session, requestId, parseQuery(query, req), req)
        audit({ status: 200, ageMs: Math.round(result.served.ageMs) })
        present(req, res, result)
      } catch (error) {
        if (error instanceof BrokerError) audit({ status: error.status, errorCode: error.code })
        throw error
      }
    }

  return routesOf(PAM_OPERATIONS, {
    getAccess: lookup('me', PAM_OPERATIONS.getAccess, groups.me),
    listGroups: lookup('list', PAM_OPERATIONS.listGroups, groups.list),
    getGroup: lookup('one', PAM_OPERATIONS.getGroup, (session, requestId, _query, { params }) =>
      groups.one(session, requestId, String(params.id)),
    ),
  })
}

/** The same paths, if `PAM_BASE_URL` is not set: 404. */
export function createPamNotConfiguredRoutes(): Route[] {
  const handle = () => {
    throw notFound('access service: not configured')
  }
  return Object.values(PAM_OPERATIONS).map((operation) => ({ ...operation, handle }))
}

function parseQuery<Schema extends z.ZodObject>(schema: Schema, { query }: Request): z.output<Schema> {
  const isEmptyField = (name: string) => query[name] === '' && Object.hasOwn(schema.shape, name) // as forms send it
  return checkQuery(schema, Object.fromEntries(Object.entries(query).filter(([name]) => !isEmptyField(name))))
}
