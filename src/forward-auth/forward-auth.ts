import type { ServerResponse } from 'node:http'
import type { Request } from 'express'
import { invalidField, noSession, ruleNotMet } from '../errors.ts'
import { checkQuery } from '../http/query.ts'
import { getRequestContext } from '../http/request-context.ts'
import { type Operations, type Route, routesOf } from '../http/route.ts'
import { sendJson } from '../http/send-json.ts'
import type { Session } from '../session/session.ts'
import type { Sessions } from '../session/sessions.ts'
import { DENIED_HEADER } from './begin-forward-auth.ts'
import {
  type Access,
  type DeniedBy,
  deniedByAccess,
  deniedByBinding,
  deniedByProof,
  FORWARD_AUTH_RULES,
  type ForwardAuthRules,
  needsAccess,
} from './forward-auth-rules.ts'
import { toHeaderList, toHeaderText } from './header-text.ts'
import type { IdentityTokens, RequestedClaims } from './identity-token.ts'
import { createIncompleteHeaders, type IncompleteHeaders } from './incomplete-headers.ts'
import { createMistypedRules, type MistypedRules, type MistypedRulesOptions } from './mistyped-rules.ts'
import { selectNamed } from './named-access.ts'

/** The proxy passes them to the application, and must remove them from the client's request. */
export const IDENTITY_HEADERS = [
  'X-Auth-Request-User',
  'X-Auth-Request-Preferred-Username',
  'X-Auth-Request-Session',
] as const

/** Only if the request asks for them. */
export const REQUESTED_HEADERS = [
  'X-Auth-Request-Groups',
  'X-Auth-Request-Roles',
  'X-Auth-Request-Amr',
  'X-Auth-Request-Email',
  'X-Auth-Request-Name',
  'X-Auth-Request-Jwt',
] as const

export const FORWARD_AUTH_OPERATIONS = {
  forwardAuth: {
    method: 'GET', // as described to clients; `app.ts` serves every method
    path: '/forward-auth',
    kind: 'forward-auth',
    query: FORWARD_AUTH_RULES,
  },
} as const satisfies Operations

export const KEY_SET_OPERATIONS = {
  getIdentityKeys: { method: 'GET', path: '/.well-known/gatehouse-jwks.json', kind: 'open' },
} as const satisfies Operations

export interface ForwardAuthOptions extends MistypedRulesOptions {
  readonly sessions: Pick<Sessions, 'require' | 'isKeyProved'>
  readonly identityTokens: IdentityTokens
  /** The values that `aud` may have. */
  readonly jwtAudiences: readonly string[]
  /**
   * Reads the groups of the user, at most a minute old. `undefined` if the user is unknown there.
   * Throws `BrokerError`. Without this function, PAM is not configured (`readAccess` in
   * pam/groups.ts).
   */
  readonly readAccess?: ((session: Session, requestId: string) => Promise<Access | undefined>) | undefined
  readonly now: () => number
}

/**
 * Responds 200 with the user in headers, 401 or 403. `X-Auth-Request-*` headers of the request are
 * ignored.
 */
export function createForwardAuthRoutes(options: ForwardAuthOptions): Route[] {
  const warnings = { mistyped: createMistypedRules(options), incomplete: createIncompleteHeaders(options) }
  const parse = (req: Request) => {
    try {
      return parseRules(req, options)
    } catch (error) {
      warnings.mistyped.ofQuery(req, error)
      throw error
    }
  }
  return routesOf(FORWARD_AUTH_OPERATIONS, {
    async forwardAuth(req, res) {
      const rules = parse(req)
      const session = await options.sessions.require(req)
      const requested =
        rules === undefined ? undefined : await applyRules(rules, session, req, { ...options, ...warnings })
      setIdentity(res, session, rules?.encoding) // not before: an error has none of these headers
      if (requested !== undefined) res.set(requested)
      res.end()
    },
  })
}

/** The keys that verify `X-Auth-Request-Jwt`. */
export function createKeySetRoutes({ identityTokens }: Pick<ForwardAuthOptions, 'identityTokens'>): Route[] {
  return routesOf(KEY_SET_OPERATIONS, {
    async getIdentityKeys(_req, res) {
      res.setHeader('Cache-Control', 'public, max-age=300')
      sendJson(res, await identityTokens.keySet())
    },
  })
}

/** Parses the rules of the query. undefined: there are none. */
function parseRules(
  req: Request,
  { jwtAudiences, readAccess }: ForwardAuthOptions,
): ForwardAuthRules | undefined {
  if (!req.url.includes('?')) return undefined
  const rules = checkQuery(FORWARD_AUTH_RULES, req.query)
  if (rules.aud !== undefined && !jwtAudiences.includes(rules.aud))
    throw invalidField('aud: must be one of JWT_AUDIENCES')
  if (needsAccess(rules) && readAccess === undefined)
    throw invalidField('query: groups and roles need PAM, which is not configured')
  return rules
}

interface Warnings {
  readonly mistyped: MistypedRules
  readonly incomplete: IncompleteHeaders
}

/**
 * Returns the headers that the request asks for, or throws 401 or 403. The rules that need no
 * look-up are first.
 */
async function applyRules(
  rules: ForwardAuthRules,
  session: Session,
  req: Request,
  { sessions, identityTokens, readAccess, mistyped, incomplete, now }: ForwardAuthOptions & Warnings,
): Promise<Record<string, string>> {
  /** Signing in again helps against 401, not against 403. */
  const refuse = (denied: DeniedBy | undefined, status: 401 | 403) => {
    if (denied === undefined) return
    mistyped.ofValue(req, rules, denied)
    throw ruleNotMet(status, { [DENIED_HEADER]: denied })
  }
  refuse(deniedByProof(rules, session, now()), 401)
  refuse(deniedByBinding(rules, session), 403)
  // the session has a key that this request does not show: 401, so that the proxy sends the browser
  // to /signin, from where a browser with the key comes back with a request that does
  if (rules.bound === 'required' && !sessions.isKeyProved(req)) throw noSession()
  const access = needsAccess(rules)
    ? await readAccess?.(session, getRequestContext(req).requestId)
    : undefined
  const { groups, roles } = access ?? { groups: [], roles: [] }
  refuse(deniedByAccess(rules, { groups, roles }), 403)
  const { named, leftOut } = selectNamed(rules, { groups, roles }, sizeInHeaders(rules))
  incomplete.warn(req, rules, leftOut)
  const { headers, aud } = rules
  const { email, name } = profileOf(session)
  const claims = {
    email: headers.includes('email') ? email : undefined,
    name: headers.includes('name') ? name : undefined,
    ...named,
  }
  const requested = requestedHeaders(rules, session, claims)
  if (aud === undefined) return requested
  return { ...requested, 'X-Auth-Request-Jwt': await identityTokens.issue(session, aud, claims) }
}

/** The bytes of a name in a list, and of its copy in the token. */
function sizeInHeaders({ encoding, aud }: ForwardAuthRules) {
  return (name: string) => {
    const inToken = aud === undefined ? 0 : Math.ceil((4 / 3) * (Buffer.byteLength(JSON.stringify(name)) + 1))
    return toHeaderList([name], encoding).length + 1 + inToken
  }
}

function setIdentity(
  res: ServerResponse,
  { userId, login, publicId }: Session,
  encoding: ForwardAuthRules['encoding'] = 'percent',
): void {
  const [user, userName, session] = IDENTITY_HEADERS
  res.setHeader(user, toHeaderText(userId, encoding))
  res.setHeader(userName, toHeaderText(login, encoding))
  res.setHeader(session, publicId)
}

/** Okta's response has no email address, but a login usually is one. */
function profileOf({ login, profile: { email, firstName, lastName } }: Session) {
  const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''
  const emailOfLogin = login.includes('@') ? login : undefined
  const name = [firstName, lastName].filter(isText).join(' ')
  return { email: isText(email) ? email : emailOfLogin, name: name === '' ? undefined : name }
}

function requestedHeaders(
  { headers: wanted, encoding }: ForwardAuthRules,
  { amr }: Session,
  { email = '', name = '', groups, roles }: RequestedClaims,
): Record<string, string> {
  const headers = {
    'X-Auth-Request-Groups': groups && toHeaderList(groups, encoding),
    'X-Auth-Request-Roles': roles && toHeaderList(roles, encoding),
    'X-Auth-Request-Amr': wanted.includes('amr') ? toHeaderList(amr, encoding) : undefined,
    'X-Auth-Request-Email': wanted.includes('email') ? toHeaderText(email, encoding) : undefined,
    'X-Auth-Request-Name': wanted.includes('name') ? toHeaderText(name, encoding) : undefined,
  } satisfies Partial<Record<(typeof REQUESTED_HEADERS)[number], string | undefined>>
  const given = Object.entries(headers).flatMap(([header, value]) =>
    value === undefined ? [] : [[header, value]],
  )
  return Object.fromEntries(given)
}
