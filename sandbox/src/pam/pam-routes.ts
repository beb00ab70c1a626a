import { type Request, type Response, Router } from 'express'
import { type Edition, type PamGroup, ROLES } from './pam-config.ts'
import { groupBody, listBody } from './pam-directory.ts'
import { type FieldProblem, PamError } from './pam-errors.ts'
import { linkHeaders } from './pam-links.ts'
import { bearerToken, requestTarget, requireJsonObject } from './pam-middleware.ts'
import { type Listed, paginate, parseListQuery, rejectQuery } from './pam-pagination.ts'
import type { PamState } from './pam-state.ts'

/** The operations of the API (docs/conformance.md P and F-7). */
export function createPamRoutes({ state }: { state: () => PamState }): Router {
  const router = Router({ caseSensitive: true, strict: true })

  router.post('/v1/teams/:team/service_token', (req, res) => {
    const { tokens, counts, reportedTeam } = state()
    counts.tokenRequests += 1
    rejectQuery(queryOf(req))
    const { key_id, key_secret } = requireStrings(requireJsonObject(req), ['key_id', 'key_secret'])
    checkTeamName(state(), req.params.team)
    const verifiedKey = tokens.checkKey(key_id, key_secret)
    checkTeamEnabled(state())
    const { token, expiresAt } = tokens.mint(verifiedKey)
    counts.tokensMinted += 1
    const expires_at = new Date(expiresAt).toISOString()
    res.json({ bearer_token: token, expires_at, team_name: reportedTeam })
  })

  router.get('/v1/teams/:team/groups', (req, res) => {
    authorize(state(), req)
    const { counts, directory } = state()
    const isFirst = sendGroups(state(), directory.groups(), req, res)
    counts.groupPages += 1
    if (isFirst) counts.groupLists += 1
  })

  router.get('/v1/teams/:team/users/:user/groups', (req, res) => {
    authorize(state(), req)
    const { counts, directory } = state()
    const { user } = req.params
    const isFirst = sendGroups(state(), directory.groupsOf(user), req, res)
    counts.userPages[user] = (counts.userPages[user] ?? 0) + 1
    if (isFirst) counts.userLists[user] = (counts.userLists[user] ?? 0) + 1
  })

  /** The only operation that creates a resource, for resource_already_exists and quota_exceeded. */
  router.post('/v1/teams/:team/groups', (req, res) => {
    authorize(state(), req)
    rejectQuery(queryOf(req))
    const { directory, edition, groupQuota, groupForm, emptyLists } = state()
    const body = requireJsonObject(req)
    const { name } = requireStrings(body, ['name'])
    const roles = rolesOf(body, edition)
    if (directory.groups().filter((group) => group.deletedAt === undefined).length >= groupQuota)
      throw new PamError('quota_exceeded')
    res.status(201).json(groupBody(directory.create(name, roles), groupForm, emptyLists))
  })

  router.use(() => {
    throw new PamError('resource_does_not_exist')
  })

  return router
}

/** Checks the token, the team and the service user's access. */
function authorize(state: PamState, req: Request): void {
  const token = bearerToken(req)
  if (token === undefined) throw new PamError('authentication_error')
  if (state.deletedServerTokens.has(token)) throw new PamError('server_authorization_revoked')
  const serviceUser = state.tokens.serviceUserOf(token)
  if (serviceUser === undefined) throw new PamError('authentication_error')
  const access = state.access.get(serviceUser)
  checkTeamName(state, req.params.team)
  checkTeamEnabled(state)
  if (access === 'full') return
  throw new PamError(access === 'none' ? 'authorization_error' : 'forbidden_error')
}

/** Team names are case-insensitive. */
function checkTeamName({ team }: PamState, name: unknown): void {
  if (typeof name !== 'string' || name.toLowerCase() !== team.toLowerCase())
    throw new PamError('resource_does_not_exist')
}

function checkTeamEnabled(state: PamState): void {
  if (state.teamDisabled) throw new PamError('disabled_team')
}

function sendGroups(state: PamState, all: readonly PamGroup[], req: Request, res: Response): boolean {
  return sendPage(state, all, (group) => groupBody(group, state.groupForm, state.emptyLists), req, res)
}

/**
 * Sends one page of a sorted list with its links. @returns whether it is the first page of a list
 */
function sendPage<Item extends Listed>(
  state: PamState,
  all: readonly Item[],
  toBody: (item: Item) => unknown,
  req: Request,
  res: Response,
): boolean {
  const { path, search } = requestTarget(req)
  const query = parseListQuery(queryOf(req))
  const { pageSize = Number.POSITIVE_INFINITY, showDeleted } = state
  const page = paginate(all, query, { pageSize, showDeleted })

  const origin = state.linkOrigin ?? `${req.protocol}://${req.headers.host}`
  const absolute = (query: string | undefined) => query && `${origin}${path}?${query}`
  const links = linkHeaders(
    state.linkForm,
    { origin, path, query: search, next: absolute(page.next), prev: absolute(page.prev) },
    state.linkTarget,
  )
  if (links.length > 0) res.setHeader('Link', links)
  res.json({ list: listBody(page.items.map(toBody), state.emptyLists) })
  return query.after === undefined
}

function queryOf(req: Request): URLSearchParams {
  return new URLSearchParams(requestTarget(req).search)
}

/** @throws invalid_request naming each field that is not a non-empty string */
function requireStrings<Name extends string>(
  body: Record<string, unknown>,
  names: readonly Name[],
): Record<Name, string> {
  const problems: FieldProblem[] = []
  const found: Partial<Record<Name, string>> = {}
  for (const name of names) {
    const value = body[name]
    if (typeof value === 'string' && value !== '') found[name] = value
    else problems.push({ path: name, message: 'must be a non-empty string' })
  }
  if (problems.length > 0) throw new PamError('invalid_request', problems)
  return found as Record<Name, string>
}

function rolesOf({ roles = [] }: Record<string, unknown>, edition: Edition): string[] {
  if (!Array.isArray(roles) || !roles.every((role) => typeof role === 'string'))
    throw new PamError('invalid_request', [{ path: 'roles', message: 'must be an array of strings' }])
  const unknown = roles.filter((role) => !ROLES[edition].includes(role))
  if (unknown.length === 0) return roles
  throw new PamError(
    'invalid_request',
    unknown.map((role) => ({ path: 'roles', message: `unknown role "${role}"` })),
  )
}
