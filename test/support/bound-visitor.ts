import { type BrowserKey, createBrowserKey } from '../session/browser-key.ts'
import { type Answer, askPort } from './ask-port.ts'

/** A browser with a key, whose page is on an https origin. The broker listens on localhost. */
export interface BoundVisitor {
  /** By name. */
  readonly cookies: Map<string, string>
  /** @param at the origin of the broker */
  ask(at: string, method: string, path: string, more?: Asked): Promise<Answer>
  /** Returns the challenge of the registration. */
  signIn(at: string, credentials: object): Promise<string>
  register(at: string, challenge: string): Promise<Registration>
  /** Signs in, and registers the key. */
  bind(at: string, credentials: object): Promise<Registration>
  /** @param signer default: the key of this browser */
  renew(at: string, registration: Registration, signer?: BrowserKey): Promise<Answer>
}

interface Registration {
  readonly status: number
  /** Of the session; empty if it is not bound. */
  readonly name: string
  /** For the next renewal. */
  readonly challenge: string
}

interface Asked {
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: object
}

export function openBoundVisitor(origin: string): BoundVisitor {
  const key = createBrowserKey()
  const cookies = new Map<string, string>()

  const ask: BoundVisitor['ask'] = async (at, method, path, { headers, body } = {}) => {
    const answer = await askPort(Number(new URL(at).port), {
      method,
      path,
      headers: {
        cookie: [...cookies].map((each) => each.join('=')).join('; '),
        origin,
        'sec-fetch-site': 'same-origin',
        'sec-fetch-mode': path.startsWith('/bound-session') ? 'no-cors' : 'cors',
        ...(body && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body && { body: JSON.stringify(body) }),
    })
    for (const line of answer.headers['set-cookie'] ?? []) keep(line)
    return answer
  }

  const keep = (line: string) => {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
    if (value === '') cookies.delete(name)
    else cookies.set(name, value)
  }

  const signIn: BoundVisitor['signIn'] = async (at, credentials) => {
    await ask(at, 'GET', '/api/v1/sessions/me')
    const { headers } = await ask(at, 'POST', '/api/v1/authn', { body: credentials })
    return challengeIn(headers['secure-session-registration'])
  }

  const register: BoundVisitor['register'] = async (at, challenge) => {
    const proof = key.prove(challenge, { header: { jwk: key.jwk } })
    const { status, headers, json } = await ask(at, 'POST', '/bound-session', {
      headers: { 'secure-session-response': proof },
    })
    const { session_identifier: name = '' } = Object(json)
    return { status, name, challenge: challengeIn(headers['secure-session-challenge']) }
  }

  return {
    cookies,
    ask,
    signIn,
    register,
    bind: async (at, credentials) => register(at, await signIn(at, credentials)),
    renew: (at, { name, challenge }, signer = key) =>
      ask(at, 'POST', '/bound-session/refresh', {
        headers: { 'sec-secure-session-id': name, 'secure-session-response': signer.prove(challenge) },
      }),
  }
}

/** In `Secure-Session-Registration` and `Secure-Session-Challenge`. */
const challengeIn = (header: unknown) => /"([\w.-]{20,})"/.exec(String(header))?.[1] ?? ''
