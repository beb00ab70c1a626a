import type { Request, RequestHandler, Response } from 'express'
import { z } from 'zod'
import { type BearerToken, findBearer } from '../bearer-auth/bearer-token.ts'
import type { createCallLimits } from '../bearer-auth/call-limits.ts'
import { BrokerError, internalError, invalidField, notFound, wrongBearerToken } from '../errors.ts'
import { createBodyReader } from '../http/body-parser.ts'
import { addressForLimits, getRequestContext } from '../http/request-context.ts'
import type { Route } from '../http/route.ts'
import { sendJson } from '../http/send-json.ts'
import type { AuditFields } from '../observability/audit-events.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import { endSessionsOfAllUsers } from '../revocation/end-all-sessions.ts'
import type { Sessions } from '../session/sessions.ts'
import type { EndAllSessions } from '../session/user-sessions.ts'
import type { Store } from '../store/store.ts'
import { isUserId } from '../user-id.ts'

export interface AdminRoutesOptions {
  readonly sessions: Pick<Sessions, 'list' | 'formatTimes'>
  readonly endAllSessions: EndAllSessions
  readonly store: Pick<Store, 'keyPrefix' | 'deleteAll'>
  readonly limits: UserLimits
  readonly metrics: Pick<Metrics, 'sessionsEnded'>
  readonly log: Logger
}

/** The throttling limits of a user. */
export interface UserLimits {
  /**
   * Resets the limits that apply to every browser. Passwords and recoveries are counted by login,
   * later steps by user id.
   */
  end(user: { readonly userId: string; readonly login: string | undefined }): Promise<void>
  hashLogin(login: string): string
}

interface AdminResult {
  readonly body: object
  readonly count?: number
}

type UserOperation = (
  options: AdminRoutesOptions,
  userId: string,
  req: Request,
  res: Response,
) => Promise<AdminResult>

/**
 * Routes of the operations listener: list and end a user's sessions, end a user's limits, and end
 * the sessions of all users.
 */
export function createAdminRoutes(options: AdminRoutesOptions): Route[] {
  type Operation = AuditFields<'admin_call'>['operation']
  const route = (
    method: Route['method'],
    path: string,
    operation: Operation,
    run: (req: Request, res: Response) => Promise<AdminResult>,
  ): Route => ({
    method,
    path,
    async handle(req, res) {
      const userId = isUserId(req.params.uid) ? req.params.uid : undefined
      const call = { ...requestFields(req), operator: getRequestContext(req).operator, operation, userId }
      try {
        const { body, count } = await run(req, res)
        options.log.audit('admin_call', { ...call, status: 200, count })
        sendJson(res, body)
      } catch (error) {
        const { status, code: errorCode } = error instanceof BrokerError ? error : internalError(error)
        options.log.audit('admin_call', { ...call, status, errorCode })
        throw error
      }
    },
  })
  const ofUser = (method: Route['method'], resource: string, operation: Operation, run: UserOperation) =>
    route(method, `/admin/users/:uid/${resource}`, operation, async (req, res) => {
      if (!isUserId(req.params.uid)) throw invalidField('uid: is not a user id of the org')
      return run(options, req.params.uid, req, res)
    })

  return [
    ofUser('GET', 'sessions', 'list_sessions', listSessions),
    ofUser('DELETE', 'sessions', 'end_sessions', endSessions),
    ofUser('DELETE', 'limits', 'end_limits', endLimits),
    route('DELETE', '/admin/sessions', 'end_sessions_of_all_users', async () => {
      const count = await endSessionsOfAllUsers(options.store)
      options.metrics.sessionsEnded.inc({ reason: 'by_admin' }, count)
      return { body: { ended: count }, count }
    }),
  ]
}

const listSessions: UserOperation = async ({ sessions }, userId) => {
  const listed = (await sessions.list(userId)).map(({ session }) => {
    const { publicId: id, amr, userAgent } = session
    const deviceBound = session.binding !== undefined
    return { id, ...sessions.formatTimes(session), amr, userAgent, deviceBound }
  })
  return { body: { sessions: listed }, count: listed.length }
}

const endSessions: UserOperation = async ({ endAllSessions, log }, userId, req) => {
  const reason = 'by_admin'
  const audit = (count: number) =>
    log.audit('sessions_revoked', { ...requestFields(req), userId, reason, count })
  const count = await endAllSessions(userId, reason, audit)
  return { body: { ended: count }, count }
}

const endLimits: UserOperation = async ({ limits, log }, userId, req, res) => {
  const login = await readLogin(req, res)
  await limits.end({ userId, login })
  const ended = { ...requestFields(req), userId }
  log.audit('limits_ended', ended)
  if (login !== undefined) log.audit('limits_ended', { ...ended, loginHash: limits.hashLogin(login) })
  return { body: { ended: ['userId', ...(login === undefined ? [] : ['login'])] } }
}

const readBody = createBodyReader()

/**
 * Strict: without an error, a misspelled field would end fewer limits than the operator expects.
 */
const limitsBody = z.strictObject({
  login: z
    .string()
    .max(320)
    .regex(/^(?=.*\S)\P{Cc}+$/u)
    .optional(),
})

/**
 * The login is in the body, because URLs are logged in many places. undefined: only the limits by
 * user id are ended.
 */
async function readLogin(req: Request, res: Response): Promise<string | undefined> {
  const { success, data } = limitsBody.safeParse(await readBody(req, res))
  if (!success) throw invalidField('login: must be the only field, and a login of at most 320 characters')
  return data.login
}

/** A token of `OPS_TOKENS`, or `OPS_TOKEN`, which has no name. */
export interface OpsToken extends BearerToken {
  readonly name: string | undefined
}

/** docs/configuration.md#limits has the reason. Right tokens are neither counted nor refused. */
export const OPS_LIMITS = { ops_address: { attempts: 20, perSeconds: 600 } } as const

export interface OpsTokenDeps {
  readonly opsTokens: readonly OpsToken[]
  readonly limits: ReturnType<typeof createCallLimits<keyof typeof OPS_LIMITS>>
  readonly log: Logger
}

/**
 * Checks the token for every path under `/admin`, even unknown ones. Without any token, they are
 * disabled.
 */
export function requireOpsToken({ opsTokens, limits, log }: OpsTokenDeps): RequestHandler {
  return async function requireOpsToken(req, _res, next) {
    if (opsTokens.length === 0) throw notFound('path')
    const token = findBearer(req, opsTokens)
    if (token !== undefined) {
      getRequestContext(req).operator = token.name
      return next()
    }
    try {
      await limits.count('ops_address', addressForLimits(getRequestContext(req).address))
      throw wrongBearerToken('the OPS_TOKEN or one of OPS_TOKENS')
    } catch (error) {
      const { status, code: errorCode } = error instanceof BrokerError ? error : internalError(error)
      log.audit('admin_call', { ...requestFields(req), operation: 'none', status, errorCode })
      throw error
    }
  }
}

function requestFields(req: Request) {
  const { requestId, address } = getRequestContext(req)
  return { requestId, address }
}
