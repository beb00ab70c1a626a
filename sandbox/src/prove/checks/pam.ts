import { outcomeOf, type Reply } from '../caller.ts'
import { type Check, holds, notTestable } from '../check.ts'
import type { Context } from '../context.ts'
import { at, listOf, textAt } from '../json.ts'

const SERVICE_USER = 'connect-your-okta-org.md#9-pam-service-user'

export const PAM_CHECKS: readonly Check[] = [
  {
    id: 'pam.token',
    belief: 'A service user’s key gets a bearer token, its end and the team.',
    where: SERVICE_USER,
    change: 'Check the key, and PAM_TOKEN_PATH.',
    needs: ['pam'],
    async run(context) {
      const reply = await mint(context)
      const { team } = pamOf(context)
      const expiresAt = Date.parse(textAt(reply.body, 'expires_at'))
      const isComplete = textAt(reply.body, 'bearer_token') !== '' && expiresAt > context.now()
      const isTeam = textAt(reply.body, 'team_name').toLowerCase() === team.toLowerCase()
      return holds(
        isComplete && isTeam,
        `${reply.status}; ${isComplete ? `${Math.round((expiresAt - context.now()) / 60_000)} minutes` : 'not complete'}; ${isTeam ? 'the team' : 'another team'}`,
      )
    },
  },
  {
    id: 'pam.pages',
    belief: 'Lists come in pages, with a Link of the relation “next” on the same host and path.',
    where: SERVICE_USER,
    change: 'Report the header: lists would be an error.',
    needs: ['pam'],
    async run(context) {
      const first = await get(context, '/groups?count=1')
      const list = listOf(first.body.list)
      const next = /<([^>]+)>[^,]*rel="?next"?/i.exec(first.headers.get('link') ?? '')?.[1]
      if (list.length === 0) return notTestable('the team has no groups')
      if (next === undefined) return notTestable('the first page is the last one')
      const url = new URL(next, pamOf(context).url)
      const second = await context.pam({ method: 'GET', path: url.href, headers: await bearer(context) })
      const isSame = url.origin === new URL(pamOf(context).url).origin && url.pathname.endsWith('/groups')
      const moved = textAt(listOf(second.body.list)[0], 'id') !== textAt(list[0], 'id')
      return holds(
        isSame && second.status === 200 && moved,
        `next page ${second.status}, ${moved ? 'other groups' : 'the same groups'}`,
      )
    },
  },
  {
    id: 'pam.limit',
    belief: 'Responses name the limit, the remaining calls and the reset in X-RateLimit headers.',
    where: SERVICE_USER,
    change: 'Watch `pam_rate_limited` instead.',
    needs: ['pam'],
    async run(context) {
      const { headers } = await get(context, '/groups?count=1')
      const names = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']
      const missing = names.filter((name) => !headers.has(name))
      return holds(
        missing.length === 0,
        missing.length === 0 ? names.join(', ') : `not ${missing.join(', ')}`,
      )
    },
  },
  {
    id: 'O4',
    belief: 'A refusal of the PAM API has a name in `error`, or is `{nottype, code, message}`.',
    where: 'sandbox.md#control-routes',
    change: 'Report the shape: the broker classifies errors by it.',
    needs: ['pam'],
    async run(context) {
      const headers = { authorization: 'Bearer not-a-token' }
      const reply = await context.pam({ method: 'GET', path: `${teamPath(context)}/groups`, headers })
      const named = textAt(reply.body, 'error') === 'authentication_error'
      const nameless = reply.body.nottype !== undefined && typeof reply.body.message === 'string'
      return holds(
        reply.status === 401 && (named || nameless),
        `${reply.status} with ${Object.keys(reply.body).join(', ') || 'no JSON'}`,
      )
    },
  },
  {
    id: 'O4.list',
    belief: 'An empty list of roles is `null` or `[]`.',
    where: 'sandbox.md#control-routes',
    change: 'Report the shape.',
    needs: ['pam'],
    async run(context) {
      const groups = listOf((await get(context, '/groups')).body.list)
      const empty = groups.map((group) => at(group, 'roles')).filter((roles) => listOf(roles).length === 0)
      if (empty.length === 0) return notTestable('every group of the first page has roles')
      const seen = [...new Set(empty.map((roles) => JSON.stringify(roles) ?? 'missing'))]
      return holds(
        seen.every((form) => form === 'null' || form === '[]'),
        seen.join(', '),
      )
    },
  },
  {
    id: 'P1',
    belief: 'The service user’s key may read the groups of a user.',
    where: SERVICE_USER,
    change: 'Give the service user the role that is missing.',
    needs: ['pam', 'pamUser'],
    async run(context) {
      const user = encodeURIComponent(pamOf(context).user ?? '')
      const reply = await get(context, `/users/${user}/groups`)
      return holds(
        reply.status === 200 && 'list' in reply.body,
        `${outcomeOf(reply)}, ${listOf(reply.body.list).length} groups`,
      )
    },
  },
  {
    id: 'P2',
    belief:
      'For a user whom the team does not have, as for a deleted one, PAM answers 404, and the portal shows that PAM does not know the user.',
    where: SERVICE_USER,
    change: 'Report the status: such users would see an error instead of no groups.',
    needs: ['pam'],
    async run(context) {
      const reply = await get(context, `/users/nobody-${context.unique()}/groups`)
      const portal = await context.openPortal()
      const signIn = await portal.signIn(await context.org.createUser())
      const access = await portal.get('/api/v1/pam/me')
      return holds(
        reply.status === 404 && access.body.errorCode === 'pam_user_unknown',
        `PAM ${reply.status}; sign-in ${outcomeOf(signIn)}, access at the portal ${outcomeOf(access)}`,
      )
    },
  },
]

function pamOf({ target }: Context) {
  if (target.pam === undefined) throw new Error('no PAM team')
  return target.pam
}

const teamPath = (context: Context) => {
  const { url, team } = pamOf(context)
  return `${new URL(url).pathname.replace(/\/$/, '')}/v1/teams/${encodeURIComponent(team)}`
}

function mint(context: Context): Promise<Reply> {
  const { keyId, keySecret } = pamOf(context)
  const body = { key_id: keyId, key_secret: keySecret }
  return context.pam({ method: 'POST', path: `${teamPath(context)}/service_token`, body })
}

async function bearer(context: Context) {
  return { authorization: `Bearer ${textAt((await mint(context)).body, 'bearer_token')}` }
}

async function get(context: Context, path: string): Promise<Reply> {
  return context.pam({ method: 'GET', path: teamPath(context) + path, headers: await bearer(context) })
}
