import { OPERATIONS } from '../../src/authn/operations.ts'
import { type StubRequest, type StubUpstream, sendJson, startStubUpstream } from './stub-upstream.ts'

/** A stub of an org and a PAM team that accept everything and offer every step. */
export interface PermissiveUpstream {
  readonly origin: string
  /** The requests since the last call, as `METHOD /path`. */
  callsSinceLastLook(): string[]
  /**
   * The Authentication API's response to all further requests. undefined: it accepts everything
   * again.
   */
  answerWith(answer: RawAnswer | undefined): void
  close(): Promise<void>
}

export interface RawAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer
}

export const GROUP_ID = '00000000-0000-4000-8000-000000000001'
const PICTURE = Buffer.from('89504e470d0a1a0a', 'hex')

/** `/users/:uid/factors/:id/verify` → `/users/00u-person1/factors/fac123/verify` */
export function pathOf(template: string, userId = '00u-nobody'): string {
  const ids: Readonly<Record<string, string>> = { uid: userId, id: 'fac123', type: 'SMS' }
  return template.replace(/:(\w+)/g, (_, name: string) => ids[name] ?? name)
}

export async function startPermissiveUpstream(): Promise<PermissiveUpstream> {
  let always: RawAnswer | undefined
  let transactions = 0
  const stub: StubUpstream = await startStubUpstream((req, res) => {
    if (always !== undefined && !req.path.startsWith('/v1/'))
      return void res.writeHead(always.status, always.headers).end(always.body)
    if (req.path.includes('/qr/')) return void res.setHeader('content-type', 'image/png').end(PICTURE)
    sendJson(res, 200, answerTo(req))
  })

  function answerTo({ path, body }: StubRequest): unknown {
    // the broker sends an object
    const { username, stateToken } = Object(body) as Record<string, string>
    if (path.startsWith('/v1/teams/')) return pamAnswer(path)
    if (path.endsWith('/factors/questions')) return [{ question: 'favorite_toy', questionText: 'Which toy?' }]
    if (username !== undefined && path === '/api/v1/authn')
      return username.startsWith('steps-') ? transactionOf(username) : success(username)
    if (path.includes('/recovery/')) return { status: 'RECOVERY_CHALLENGE', factorType: 'EMAIL' }
    return { status: 'MFA_REQUIRED', stateToken }
  }

  function transactionOf(username: string) {
    transactions += 1
    const user = userOf(username.replace('steps-', ''))
    const stateToken = `00plainly-fake-state-token-${String(transactions).padStart(8, '0')}`
    const links = [
      ...OPERATIONS.map(({ path }) => ({
        href: stub.origin + pathOf(path, user.id),
        hints: { allow: ['POST'] },
      })),
      ...[
        '/api/v1/users/:uid/factors/questions',
        '/api/v1/users/:uid/factors/:id/qr/plainly-fake-picture',
      ].map((path) => ({ href: stub.origin + pathOf(path, user.id), hints: { allow: ['GET'] } })),
      ...['/login/step-up/redirect', '/login/token/redirect', '/sso/idps/:id'].map((path) => ({
        href: `${stub.origin}${pathOf(path, user.id)}?stateToken=${stateToken}`,
        hints: { allow: ['GET'] },
      })),
    ]
    return { status: 'MFA_REQUIRED', stateToken, _embedded: { user }, _links: { resend: links } }
  }

  return {
    origin: stub.origin,
    callsSinceLastLook() {
      const calls = stub.requests.map(({ method, path }) => `${method} ${path}`)
      stub.reset()
      return calls
    },
    answerWith(answer) {
      always = answer
    },
    close: stub.close,
  }
}

function success(login: string) {
  return {
    status: 'SUCCESS',
    sessionToken: `20plainly-fake-session-token-of-${login}`,
    _embedded: { user: userOf(login) },
  }
}

const userOf = (login: string) => ({ id: `00u-${login.split('@')[0]}`, profile: { login } })

function pamAnswer(path: string) {
  if (path.endsWith('/service_token')) {
    return {
      bearer_token: 'plainly-fake-bearer-token',
      expires_at: new Date(Date.now() + 3_600_000).toISOString(),
      team_name: 'example-team',
    }
  }
  return {
    status: 'ACTIVE',
    list: [{ id: GROUP_ID, name: 'everyone', roles: ['end_user'], deleted_at: null }],
  }
}
