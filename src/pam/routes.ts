import type { Request } from 'express'
import type { z } from 'zod'
import { BrokerError, notFound } from '../errors.ts'
import { checkQuery } from '../http/query.ts'
import { getRequestContext } from '../http/request-context.ts'
import { type Route, routesOf } from '../http/route.ts'
import type { AuditFields } from '../observability/audit-events.ts'
import type { Logger } from '../observability/logger.ts'
import { auditFields } from '../session/session.ts'
import type { Sessions } from '../session/sessions.ts'
import type { Groups, PamLogin } from './groups.ts'
import { PAM_OPERATIONS } from './pam-operations.ts'
import { createLookupPresenter, type LookupResult } from './present-lookup.ts'

type LookupFields = Pick<AuditFields<'group_lookup'>, 'operation' | 'status' | 'errorCode' | 'ageMs'>

/** The client of a look-up. */
export interface LookupClient extends PamLogin {
  /** Throws if it may not make this look-up, which is audited too. */
  admit?(): Promise<void>
  audit(lookup: LookupFields): void
}

/** The handlers of the look-ups. `identify` finds the client of a request, or throws. */
export function createLookups(groups: Groups, identify: (req: Request) => Promise<LookupClient>) {
  const present = createLookupPresenter()

  const lookup = <Schema extends z.ZodObject>(
    operation: LookupFields['operation'],
    { query }: { readonly query: Schema },
    find: (
      client: PamLogin,
      requestId: string,
      query: z.output<Schema>,
      req: Request,
    ) => Promise<LookupResult>,
  ): Route['handle'] =>
    async function handleLookup(req, res) {
      res.setHeader('Cache-Control', 'private, no-cache')
      const client = await identify(req)
      try {
        await client.admit?.()
        const { requestId } = getRequestContext(req)
        const result = await find(client, requestId, parseQuery(query, req), req)
        client.audit({ operation, status: 200, ageMs: Math.round(result.served.ageMs) })
        present(req, res, result)
      } catch (error) {
        if (error instanceof BrokerError)
          client.audit({ operation, status: error.status, errorCode: error.code })
        throw error
      }
    }

  return {
    me: lookup('me', PAM_OPERATIONS.getAccess, groups.me),
    list: lookup('list', PAM_OPERATIONS.listGroups, groups.list),
    group: lookup('one', PAM_OPERATIONS.getGroup, (client, requestId, _query, { params }) =>
      groups.group(client, requestId, String(params.id)),
    ),
  }
}

export interface PamRoutesOptions {
  readonly groups: Groups
  readonly requireSession: Sessions['require']
  readonly log: Logger
}

/** For a user in a browser. */
export function createPamRoutes({ groups, requireSession, log }: PamRoutesOptions): Route[] {
  const { me, list, group } = createLookups(groups, async (req) => {
    const session = await requireSession(req)
    return {
      login: session.login,
      audit: (lookup) => log.audit('group_lookup', { ...auditFields(req, session), ...lookup }),
    }
  })
  return routesOf(PAM_OPERATIONS, { getAccess: me, listGroups: list, getGroup: group })
}

/** The same paths, if `PAM_BASE_URL` is not set: 404. */
export function createPamNotConfiguredRoutes(): Route[] {
  const handle = () => {
    throw notFound('access service: not configured')
  }
  return Object.values(PAM_OPERATIONS).map((operation) => ({ ...operation, kind: 'read', handle }))
}

function parseQuery<Schema extends z.ZodObject>(schema: Schema, { query }: Request): z.output<Schema> {
  // as forms send it
  const isEmptyField = (name: string) => query[name] === '' && Object.hasOwn(schema.shape, name)
  return checkQuery(schema, Object.fromEntries(Object.entries(query).filter(([name]) => !isEmptyField(name))))
}
