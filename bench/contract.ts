import { strict as assert } from 'node:assert'
import { request } from 'undici'
import { type Ask, Refused } from './load.ts'
import { askingFor, cookieOf, keepCookies, type PathName } from './visitors.ts'

/** What every server must answer for its figures to be comparable: the same facts, and no upstream token. */
export async function checkContract(origin: string, path: PathName, ask: Ask): Promise<void> {
  const answer = await answerTo(origin, ask)
  try {
    await CONTRACT[path](answer, { origin, ask })
    assert.ok(!answer.text.includes('bench-state'), 'an upstream state token is in the answer')
  } catch (error) {
    throw new Error(`${origin} ${path} is not what it should be: ${answer.text.slice(0, 300)}`, {
      cause: error,
    })
  }
}

interface Answer {
  readonly text: string
  readonly json: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

interface Asked {
  readonly origin: string
  readonly ask: Ask
}

/** What all servers put in the place of the upstream's address. */
const PUBLIC_ORIGIN = 'https://portal.example.test'

const CONTRACT: Record<PathName, (answer: Answer, asked: Asked) => unknown> = {
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
  async V({ json, headers }, { origin, ask }) {
    assert.equal(json.status, 'SUCCESS')
    assert.equal(json.sessionToken, undefined)
    const jar = new Map<string, string>()
    keepCookies(jar, ask.headers.cookie?.split('; '))
    keepCookies(jar, headers['set-cookie'])
    const [next] = askingFor('S', [
      { method: 'GET', path: '', headers: { ...ask.headers, cookie: cookieOf(jar) }, expected: 200 },
    ])
    if (next !== undefined) await CONTRACT.S(await answerTo(origin, next), { origin, ask })
  },
  K({ json }, { ask }) {
    assert.deepEqual([json.status, json.factorResult], ['MFA_CHALLENGE', 'WAITING'])
    assert.equal(json.stateToken, JSON.parse(ask.body ?? '').stateToken, 'the handle is stable')
  },
  G({ json }) {
    const list: unknown = json.list
    assert.ok(Array.isArray(list) && list.length === 100, 'a hundred groups')
    assert.deepEqual(Object.keys(list[0]).sort(), ['id', 'name', 'roles'])
  },
}

async function answerTo(origin: string, { method, path, headers, body, expected }: Ask): Promise<Answer> {
  const answer = await request(`${origin}${path}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body }),
  })
  const text = await answer.body.text()
  if (answer.statusCode !== expected) throw new Refused(`${path} answered ${answer.statusCode}: ${text}`)
  return { text, json: text.startsWith('{') ? JSON.parse(text) : {}, headers: answer.headers }
}
