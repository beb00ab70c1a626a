import type { Call, Caller, Reply } from './caller.ts'
import { isRecord, type Json, listOf, textAt } from './json.ts'
import type { ProofUser } from './org.ts'

export const AUTHN = '/api/v1/authn'

export interface AuthnCallOptions {
  /** Whether the call carries the API token. Default: true. */
  readonly token?: boolean
  readonly forwardedFor?: string | undefined
  readonly fingerprint?: string
  /** The header `Origin`. */
  readonly origin?: string
}

/** The Authentication API: of the org, or as a portal sees it through Gatehouse. */
export interface AuthnApi<Answer extends Reply = Reply> {
  post(path: string, body: Json): Promise<Answer>
  /** A step of the transaction of an earlier answer. */
  step(from: Reply, path: string, body?: Json): Promise<Answer>
}

export type Authn = ReturnType<typeof createAuthnClient>

/** Calls the Authentication API as Gatehouse does, or as a public application. */
export function createAuthnClient({ call, apiToken }: { call: Caller; apiToken: string }) {
  function request(method: Call['method'], path: string, body: Json | undefined, options: AuthnCallOptions) {
    const { token = true, forwardedFor, fingerprint, origin } = options
    return call({
      method,
      path,
      body,
      headers: {
        ...(token ? { authorization: `SSWS ${apiToken}` } : {}),
        ...(forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor }),
        ...(fingerprint === undefined ? {} : { 'x-device-fingerprint': fingerprint }),
        ...(origin === undefined ? {} : { origin }),
      },
    })
  }

  const post = (path: string, body: Json, options: AuthnCallOptions = {}) =>
    request('POST', path.startsWith('/api/') ? path : AUTHN + path, body, options)

  const step = (from: Reply, path: string, body: Json = {}, options: AuthnCallOptions = {}) =>
    post(path, { stateToken: from.body.stateToken, ...body }, options)

  /** As a public application. */
  const withoutToken: AuthnApi = {
    post: (path, body) => post(path, body, { token: false }),
    step: (from, path, body) => step(from, path, body, { token: false }),
  }

  return {
    post,
    step,
    withoutToken,
    get: (path: string, options: AuthnCallOptions = {}) => request('GET', path, undefined, options),
    signIn: (
      { login, password }: Pick<ProofUser, 'login' | 'password'>,
      more: Json = {},
      options: AuthnCallOptions = {},
    ) => post('', { username: login, password, ...more }, options),
    /** A browser's request to the org: with its cookie, without the API token. */
    browse: (path: string, cookie?: string, method: Call['method'] = 'GET') =>
      call({ method, path, headers: { accept: '*/*', ...(cookie === undefined ? {} : { cookie }) } }),
  }
}

/** The id of the factor of this type in an answer. */
export function factorIdIn({ body }: Reply, factorType: string): string {
  const embedded = Object(body._embedded)
  const factors = [...listOf(embedded.factors), ...listOf(embedded.factor), embedded.factor].filter(isRecord)
  return textAt(
    factors.find((factor) => factor.factorType === factorType),
    'id',
  )
}

/** The session cookie (`idx` on Identity Engine) that an answer sets; undefined if it sets none. */
export function sessionCookieIn({ headers }: Reply): string | undefined {
  const pairs = headers.getSetCookie().map((line) => line.split(';')[0] ?? '')
  return pairs.find((pair) => /^(sid|idx)=./.test(pair))
}
