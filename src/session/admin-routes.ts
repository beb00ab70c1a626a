import type { Request, RequestHandler, Response } from 'express'
import { z } from 'zod'
import { isSameSecret } from '../crypto/same-secret.ts'
import { BrokerError, internalError, invalidField, notFound, wrongOpsToken } from '../errors.ts'
import { bodyParser } from '../http/request-body.ts'
import { getRequestContext } from '../http/request-context.ts'
import { sendJson } from '../http/response.ts'
import type { Route } from '../http/routes.ts'
import type { AuditFields } from '../observability/audit-events.ts'
import type { Logger } from '../observability/logger.ts'
import type { EndAllSessions } from './end-all-sessions.ts'
import { isUserId } from './session.ts'
import type { Sessions } from './sessions.ts'

export interface AdminRoutesOptions {
  readonly sessions: Pick<Sessions, 'list' | 'formatTimes'>
  readonly endAllSessions: EndAllSessions
  readonly limits: UserLimits
  readonly log: Logger
}

/** The attempts of a user that are counted against throttling limits. */
export interface UserLimits {
  /** Ends all that apply to every browser. Passwords and recoveries are counted by login, later steps by user id. */
  end(user: { readonly userId: string; readonly login: string | undefined }): Promise<void>
  hashLogin(login: string): string
}

interface Done {
  readonly body: object
  readonly count?: number
}

type AdminOperation = (
  options: AdminRoutesOptions,
  userId: string,
  req: Request,
  res: Response,
) => Promise<Done>

/** For operators, on the operations listener: a user's sessions and limits, to list and to end. */
export function createAdminRoutes(options: AdminRoutesOptions): Route[] {
  const route = (
    method: Route['method'],
    what: 'sessions' | 'limits',
    operation: AuditFields<'admin_call'>['operation'],
    run: AdminOperation,
  ): Route => ({
    method,
    path: `/admin/users/:uid/${what}`,
    async handle(req, res) {
      const userId = isUserId(req.params.uid) ? req.params.uid : undefined
      const call = { ...requestOf(req), operation, userId }
      try {
        if (userId === undefined) throw invalidField('uid: is not a user id of the org')
        const { body, count } = await run(options, userId, req, res)
        options.log.audit('admin_call', { ...call, status: 200, count })
        sendJson(res, body)
      } catch (error) {
        const { status, code: errorCode } = error instanceof BrokerError ? error : internalError(error)
        options.log.audit('admin_call', { ...call, status, errorCode })
        throw error
      }
    },
  })

  return [
    route('GET', 'sessions', 'list_sessions', listSessions),
    route('DELETE', 'sessions', 'end_sessions', endSessions),
    route('DELETE', 'limits', 'end_limits', endLimits),
  ]
}

const listSessions: AdminOperation = async ({ sessions }, userId) => {
  const listed = (await sessions.list(userId)).map(({ session }) => {
    const { publicId: id, amr, userAgent } = session
    return { id, ...sessions.formatTimes(session), amr, userAgent }
  })
  return { body: { sessions: listed }, count: listed.length }
}

const endSessions: AdminOperation = async ({ endAllSessions, log }, userId, req) => {
  const reason = 'by_admin'
  const count = await endAllSessions(userId, reason)
  log.audit('sessions_revoked', { ...requestOf(req), userId, reason, count })
  return { body: { ended: count }, count }
}

const endLimits: AdminOperation = async ({ limits, log }, userId, req, res) => {
  const login = await loginIn(req, res)
  await limits.end({ userId, login })
  const ended = { ...requestOf(req), userId }
  log.audit('limits_ended', ended)
  if (login !== undefined) log.audit('limits_ended', { ...ended, loginHash: limits.hashLogin(login) })
  return { body: { ended: ['userId', ...(login === undefined ? [] : ['login'])] } }
}

const readBody = bodyParser({ limitBytes: 4096 })

/** Strict: a misspelt name would end less than was meant, and say nothing. */
const limitsBody = z.strictObject({
  login: z
    .string()
    .max(320)
    .regex(/^(?=.*\S)\P{Cc}+$/u)
    .optional(),
})

/** In the body, because an address is written to many logs; undefined: by the user id alone. */
async function loginIn(req: Request, res: Response): Promise<string | undefined> {
  await new Promise<void>((resolve, reject) => {
    readBody(req, res, (error?: unknown) => (error === undefined ? resolve() : reject(error)))
  })
  const { success, data } = limitsBody.safeParse(req.body)
  if (!success) throw invalidField('login: must be the only field, and a login of at most 320 characters')
  return data.login
}

export interface GuardAdminOptions {
  /** Read at every call, so that a changed file counts at once; undefined: there are no admin routes. */
  readonly opsToken: () => string | undefined
  readonly log: Logger
}

/** Before every path under `/admin`, known or not. */
export function guardAdmin({ opsToken, log }: GuardAdminOptions): RequestHandler {
  return function guardAdmin(req, _res, next) {
    const expected = opsToken()
    if (expected === undefined) throw notFound('path')
    const given = /^Bearer +([\x21-\x7e]+)$/i.exec(req.headers.authorization ?? '')?.[1]
    if (given !== undefined && isSameSecret(given, expected)) return next()
    const refusal = wrongOpsToken()
    const { status, code: errorCode } = refusal
    log.audit('admin_call', { ...requestOf(req), operation: 'none', status, errorCode })
    throw refusal
  }
}

function requestOf(req: Request) {
  const { requestId, address } = getRequestContext(req)
  return { requestId, address }
}
