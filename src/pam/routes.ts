import { createHash } from 'node:crypto'
import type { Request, Response } from 'express'
import type { z } from 'zod'
import { BrokerError, invalidField, notFound, temporarilyUnavailable } from '../errors.ts'
import { routesOf } from '../http/operation.ts'
import { contextOf } from '../http/request-context.ts'
import type { Route } from '../http/routes.ts'
import type { AuditFields } from '../observability/audit-events.ts'
import type { Logger } from '../observability/logger.ts'
import { auditedOf } from '../session/audited.ts'
import type { Session } from '../session/session.ts'
import type { Groups, Lookup, Shown } from './groups.ts'
import { DEFAULT_LIMIT, PAM_OPERATIONS } from './pam-operations.ts'
import { isUuid } from './upstream/group.ts'

/** Finds the session of a request and moves it; throws `noSession` when there is none. */
export type RequireSession = (req: Request) => Promise<Session>

export interface PamRoutesParts {
  readonly groups: Groups
  readonly requireSession: RequireSession
  readonly log: Logger
}

/** As the audit event names it. */
type LookupName = AuditFields<'group_lookup'>['operation']

/** Lookups of one user that may be under way at once in this process: some tabs that all load at once, and no more. */
const MAX_OF_ONE_USER = 100

export function createPamRoutes({ groups, requireSession, log }: PamRoutesParts): Route[] {
  const present = createPresenter()
  const waiting = new Map<string, number>()

  return routesOf(PAM_OPERATIONS, {
    getAccess: lookedUp('me', async (session, req) =>
      groups.me(session, lookupOf(req, parseQuery(PAM_OPERATIONS.getAccess.query, req))),
    ),
    listGroups: lookedUp('list', async (session, req) => {
      const query = parseQuery(PAM_OPERATIONS.listGroups.query, req)
      const { limit = DEFAULT_LIMIT, search, role, sort, cursor, maxAge } = query
      return groups.list(session, { search, role, sort, limit, cursor }, lookupOf(req, { maxAge }))
    }),
    getGroup: lookedUp('one', async (session, req) => {
      const lookup = lookupOf(req, parseQuery(PAM_OPERATIONS.getGroup.query, req))
      const { id } = req.params
      if (typeof id !== 'string' || !isUuid(id)) throw notFound('group (Group)')
      return groups.one(session, id, lookup)
    }),
  })

  function lookedUp(
    operation: LookupName,
    find: (session: Session, req: Request) => Promise<Shown>,
  ): Route['handle'] {
    return async (req, res) => {
      res.setHeader('Cache-Control', 'private, no-cache')
      const session = await requireSession(req)
      try {
        const shown = await oneOfFew(session, () => find(session, req))
        audit(req, session, operation, { status: 200, ageMs: Math.round(shown.ageMs) })
        present(req, res, shown)
      } catch (error) {
        if (error instanceof BrokerError)
          audit(req, session, operation, { status: error.status, errorCode: error.code })
        throw error
      }
    }
  }

  /** One user could otherwise hold all places for lookups while PAM is slow. */
  async function oneOfFew<Found>({ userId }: Session, find: () => Promise<Found>): Promise<Found> {
    const others = waiting.get(userId) ?? 0
    if (others >= MAX_OF_ONE_USER) throw temporarilyUnavailable(1, new Error('too many lookups of one user'))
    waiting.set(userId, others + 1)
    try {
      return await find()
    } finally {
      const left = (waiting.get(userId) ?? 1) - 1
      if (left > 0) waiting.set(userId, left)
      else waiting.delete(userId)
    }
  }

  function audit(
    req: Request,
    session: Session,
    operation: LookupName,
    outcome: { status: number; ageMs?: number; errorCode?: string },
  ): void {
    log.audit('group_lookup', { ...auditedOf(req, session), operation, ...outcome })
  }
}

/** When PAM is not configured (DESIGN §3): the paths are there and say so. */
export function pamAbsentRoutes(): Route[] {
  return Object.values(PAM_OPERATIONS).map((operation) => ({
    ...operation,
    handle() {
      throw notFound('access service: not configured')
    },
  }))
}

/** `maxAge` is compared with `Age`, which has whole seconds. */
function lookupOf(req: Request, { maxAge }: { maxAge?: number | undefined }): Lookup {
  const { requestId } = contextOf(req)
  return { requestId, maxAgeMs: maxAge === undefined ? undefined : maxAge * 1000 + 999 }
}

/** Of a parameter's name, so much is repeated in the error. */
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

interface Rendered {
  readonly body: Buffer
  readonly etag: string
}

/** Bytes and ETag are kept beside the list that they were made of: rendering costs more than all the rest. */
function createPresenter() {
  const kept = { fresh: new WeakMap<object, Rendered>(), stale: new WeakMap<object, Rendered>() }

  return function present(req: Request, res: Response, shown: Shown): void {
    const rendered = kept[shown.stale ? 'stale' : 'fresh']
    const known = shown.kept === undefined ? undefined : rendered.get(shown.kept)
    const { body, etag } = known ?? render(shown)
    if (shown.kept !== undefined && known === undefined) rendered.set(shown.kept, { body, etag })

    res.setHeader('ETag', etag)
    res.setHeader('Age', String(Math.floor(shown.ageMs / 1000)))
    if (isKnown(req.headers['if-none-match'], etag)) {
      res.status(304).end()
      return
    }
    res.setHeader('Content-Type', 'application/json; charset=utf-8')
    res.setHeader('Content-Length', body.length)
    res.end(req.method === 'HEAD' ? undefined : body)
  }
}

/**
 * Weak comparison (RFC 9110, section 13.1.2). Not Express's `req.fresh`, which heeds the request's `no-cache`: every
 * `fetch` that sets this header itself sends that along, and it is meant for caches, not for us.
 */
function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  const opaque = etag.slice(2)
  return ifNoneMatch.split(',').some((one) => one.trim() === '*' || one.trim().replace(/^W\//, '') === opaque)
}

/** The ETag is over the data and its stale mark, not the times: an equal list read anew is the same. */
function render({ data, stale, fetchedAtMs }: Shown): Rendered {
  const text = JSON.stringify(data)
  const hash = createHash('sha256').update(`${stale} ${text}`).digest('base64url').slice(0, 27)
  const meta = JSON.stringify({ fetchedAt: new Date(fetchedAtMs).toISOString(), stale })
  return { body: Buffer.from(`${text.slice(0, -1)},"meta":${meta}}`), etag: `W/"${hash}"` }
}
