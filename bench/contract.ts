import { strict as assert } from 'node:assert'
import type { Client } from 'undici'
import { type Answer, type PreparedRequest, send } from './load.ts'
import { cookieOf, keepCookies, type PathName } from './prepare-requests.ts'

/**
 * Checks that a server's response has the same content as all others and no upstream token, so that
 * results are comparable.
 */
export async function checkContract(
  server: Client,
  path: PathName,
  prepared: PreparedRequest,
): Promise<void> {
  const answer = await send(server, prepared)
  try {
    await CONTRACT[path](answer, { server, prepared })
    assert.ok(!answer.text.includes('bench-state'), 'the response contains an upstream state token')
  } catch (error) {
    throw new Error(`${path} does not meet the contract: ${answer.text.slice(0, 300)}`, { cause: error })
  }
}

interface Sent {
  readonly server: Client
  readonly prepared: PreparedRequest
}

/** The origin that replaces the upstream's in links. */
const PUBLIC_ORIGIN = 'https://portal.example.test'

const CONTRACT: Record<PathName, (answer: Answer, sent: Sent) => unknown> = {
  S({ text }) {
    const json = JSON.parse(text)
    for (const name of ['id', 'userId', 'login']) assert.equal(typeof json[name], 'string', name)
    assert.equal(typeof json.profile, 'object')
  },
  F: hasHeaders('user', 'preferred-username', 'session'),
  R: hasHeaders('user', 'preferred-username', 'session'),
  J: hasHeaders('user', 'preferred-username', 'session', 'jwt'),
  P({ text }) {
    const json = JSON.parse(text)
    assert.equal(json.status, 'MFA_REQUIRED')
    assert.match(String(json.stateToken), /^00[\w-]{43}$/)
    assert.ok(text.includes(`${PUBLIC_ORIGIN}/api/v1/authn/factors/bench-totp/verify`), 'links are rewritten')
    assert.ok(!text.includes('127.0.0.1'), 'no upstream address')
  },
  async V({ text, headers }, { server, prepared }) {
    const json = JSON.parse(text)
    assert.equal(json.status, 'SUCCESS')
    assert.equal(json.sessionToken, undefined)
    const jar = new Map<string, string>()
    keepCookies(jar, prepared.headers.cookie?.split('; '))
    keepCookies(jar, headers['set-cookie'])
    const headersNow = { ...prepared.headers, cookie: cookieOf(jar) }
    const next = { method: 'GET', path: '/api/v1/sessions/me', headers: headersNow, expected: 200 } as const
    CONTRACT.S(await send(server, next), { server, prepared })
  },
  K({ text }, { prepared }) {
    const json = JSON.parse(text)
    assert.deepEqual([json.status, json.factorResult], ['MFA_CHALLENGE', 'WAITING'])
    assert.equal(json.stateToken, JSON.parse(prepared.body ?? '').stateToken, 'the handle is stable')
  },
  B({ text }, sent) {
    CONTRACT.S({ text, headers: {} }, sent)
    assert.equal(JSON.parse(text).deviceBound, true)
  },
  C({ text, headers }) {
    assert.match(String(headers['set-cookie']), /^__Host-gatehouse-bound=/)
    assert.equal(typeof JSON.parse(text).session_identifier, 'string')
  },
  G({ text }) {
    const { list } = JSON.parse(text)
    assert.equal(list.length, 100, 'a hundred groups')
    assert.deepEqual(Object.keys(list[0]).sort(), ['id', 'name', 'roles'])
  },
}

function hasHeaders(...names: readonly string[]) {
  return ({ headers }: Answer) => {
    for (const name of names) assert.equal(typeof headers[`x-auth-request-${name}`], 'string', name)
  }
}
