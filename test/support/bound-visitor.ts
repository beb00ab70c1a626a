import { type Answer, askPort } from '../http/serve.ts'
import { type BrowserKey, createBrowserKey } from '../session/browser-key.ts'

/** A browser with a key, whose page is on an https origin. The broker listens on localhost. */
export interface BoundVisitor {
  readonly key: BrowserKey
  /** By name. */
  readonly cookies: Map<string, string>
  /** @param at the origin of the broker */
  ask(at: string, method: string, path: string, more?: Asked): Promise<Answer>
  /** Signs in, and registers the key. Returns the answer to the registration. */
  bind(at: string, credentials: object): Promise<Answer>
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

  return {
    key,
    cookies,
    ask,
    async bind(at, credentials) {
      await ask(at, 'GET', '/api/v1/sessions/me')
      const { headers } = await ask(at, 'POST', '/api/v1/authn', { body: credentials })
      const challenge = challengeIn(headers['secure-session-registration'])
      const proof = key.prove(challenge, { header: { jwk: key.jwk } })
      return ask(at, 'POST', '/bound-session', { headers: { 'secure-session-response': proof } })
    },
  }
}

/** In `Secure-Session-Registration` and `Secure-Session-Challenge`. */
export const challengeIn = (header: unknown) => /"([\w.-]{20,})"/.exec(String(header))?.[1] ?? ''
