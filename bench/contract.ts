import { strict as assert } from 'node:assert'
import { request } from 'undici'
import { type PreparedRequest, UnexpectedResponse } from './load.ts'
import { cookieOf, keepCookies, type PathName, withPath } from './prepare-requests.ts'

/** Checks that a server's response has the same content as all others and no upstream token, so that results are comparable. */
export async function checkContract(
  origin: string,
  path: PathName,
  prepared: PreparedRequest,
): Promise<void> {
  const answer = await answerTo(origin, prepared)
  try {
    await CONTRACT[path](answer, { origin, prepared })
    assert.ok(!answer.text.includes('bench-state'), 'the response contains an upstream state token')
  } catch (error) {
    throw new Error(`${origin} ${path} does not meet the contract: ${answer.text.slice(0, 300)}`, {
      cause: error,
    })
  }
}

interface Answer {
  readonly text: string
  readonly json: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

interface Sent {
  readonly origin: string
  readonly prepared: PreparedRequest
}

/** The origin that replaces the upstream's in links. */
const PUBLIC_ORIGIN = 'https://portal.example.test'

const CONTRACT: Record<PathName, (answer: Answer, sent: Sent) => unknown> = {
  S({ json }) {
    for (const name of ['id', 'userId', 'login']) assert.equal(typeof json[name], 'string', name)
    assert.equal(typeof json.profile, 'object')
  },
  F({ headers }) {
    for (const name of ['user', 'preferred-username', 'session']) {
      assert.equal(typeof headers[`x-auth-request-${name}`], 'string', name)
    }
  },
  P({ json, text }) {
    assert.equal(json.status, 'MFA_REQUIRED')
    assert.match(String(json.stateToken), /^00[\w-]{43}$/)
    assert.ok(text.includes(`${PUBLIC_ORIGIN}/api/v1/authn/factors/bench-totp/verify`), 'links are rewritten')
    assert.ok(!text.includes('127.0.0.1'), 'no upstream address')
  },
  async V({ json, headers }, { origin, prepared }) {
    assert.equal(json.status, 'SUCCESS')
    assert.equal(json.sessionToken, undefined)
    const jar = new Map<string, string>()
    keepCookies(jar, prepared.headers.cookie?.split('; '))
    keepCookies(jar, headers['set-cookie'])
    const [next] = withPath('S', [
      { method: 'GET', path: '', headers: { ...prepared.headers, cookie: cookieOf(jar) }, expected: 200 },
    ])
    if (next !== undefined) await CONTRACT.S(await answerTo(origin, next), { origin, prepared })
  },
  K({ json }, { prepared }) {
    assert.deepEqual([json.status, json.factorResult], ['MFA_CHALLENGE', 'WAITING'])
    assert.equal(json.stateToken, JSON.parse(prepared.body ?? '').stateToken, 'the handle is stable')
  },
  G({ json }) {
    const list: unknown = json.list
    assert.ok(Array.isArray(list) && list.length === 100, 'a hundred groups')
    assert.deepEqual(Object.keys(list[0]).sort(), ['id', 'name', 'roles'])
  },
}

async function answerTo(
  origin: string,
  { method, path, headers, body, expected }: PreparedRequest,
): Promise<Answer> {
  const answer = await request(`${origin}${path}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body }),
  })
  const text = await answer.body.text()
  if (answer.statusCode !== expected)
    throw new UnexpectedResponse(`${path} answered ${answer.statusCode}: ${text}`)
  return { text, json: text.startsWith('{') ? JSON.parse(text) : {}, headers: answer.headers }
}
