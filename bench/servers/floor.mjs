import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import { Redis } from 'ioredis'
import { Pool } from 'undici'

/**
 * The floor: the same I/O and sealing on bare `node:http`, without checks, limits, log lines,
 * security headers or key rotation. Any broker needs at least this.
 */

/**
 * A KeyObject: from bytes, Node 24 would create one at every use, which would make the floor
 * slower.
 */
const KEY = createSecretKey(Buffer.alloc(32, 'plainly-fake-bench-key'))
const upstreamOrigin = process.env.AUTHN_BASE_URL
const upstream = new Pool(upstreamOrigin, { connections: 128 })
const redis = new Redis(process.env.REDIS_URL, { enableAutoPipelining: true })
const groups = await loadGroups()

const server = createServer((req, res) => {
  answer(req, res).catch(() => res.writeHead(500).end())
})
server.keepAliveTimeout = 120_000
server.listen(0, '127.0.0.1', () => {
  process.send?.({ port: server.address().port })
})

async function answer(req, res) {
  const { url } = req
  if (req.method === 'POST') {
    const body = await json(req)
    return url === '/api/v1/authn' ? primary(body, res) : step(url, body, res)
  }
  const session = await sessionOf(req)
  if (session === undefined) return send(res, 404, '{}')
  if (url.startsWith('/api/v1/pam/groups')) return send(res, 200, groups)
  if (url !== '/forward-auth') return send(res, 200, JSON.stringify(session))
  res.writeHead(200, {
    'X-Auth-Request-User': session.userId,
    'X-Auth-Request-Preferred-Username': encodeURIComponent(session.login),
    'X-Auth-Request-Session': session.id,
  })
  return res.end()
}

/** P: one upstream call, write a record. */
async function primary(body, res) {
  const reply = await call('/api/v1/authn', body)
  const handle = `00${randomBytes(32).toString('base64url')}`
  const place = `floor:txn:${mac(handle)}`
  await redis.set(place, seal(JSON.stringify({ stateToken: reply.stateToken }), place), 'PX', 300_000)
  send(res, 200, rewriteTokens(reply, handle))
}

/** V and K: read the record, one upstream call, write the record or a session. */
async function step(path, body, res) {
  const handle = String(body.stateToken)
  const place = `floor:txn:${mac(handle)}`
  const { stateToken } = JSON.parse(open((await redis.get(place)) ?? '', place))
  const reply = await call(path, { ...body, stateToken })
  if (reply.status !== 'SUCCESS') {
    await redis.set(place, seal(JSON.stringify({ stateToken }), place), 'PX', 300_000)
    return send(res, 200, rewriteTokens(reply, handle))
  }
  const id = randomBytes(32).toString('base64url')
  const sessionPlace = `floor:sess:${mac(id)}`
  const user = reply._embedded.user
  const session = { id: handle, userId: user.id, login: user.profile.login, profile: user.profile }
  await Promise.all([
    redis.del(place),
    redis.set(sessionPlace, seal(JSON.stringify(session), sessionPlace), 'PX', 1_800_000),
  ])
  res.setHeader('Set-Cookie', `floor=${id}.${mac(id)}; Path=/; HttpOnly; SameSite=Lax`)
  send(res, 200, rewriteTokens({ ...reply, sessionToken: undefined }, handle))
}

async function sessionOf(req) {
  const value = /(?:^|; )floor=([^;]+)/.exec(req.headers.cookie ?? '')?.[1]
  if (value === undefined) return undefined
  const [id = '', signature = ''] = value.split('.')
  const expected = Buffer.from(mac(id))
  const given = Buffer.from(signature)
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined
  const place = `floor:sess:${mac(id)}`
  const sealed = await redis.get(place)
  return sealed === null ? undefined : JSON.parse(open(sealed, place))
}

async function call(path, body) {
  const reply = await upstream.request({
    method: 'POST',
    path,
    headers: { 'content-type': 'application/json', authorization: 'SSWS plainly-fake' },
    body: JSON.stringify(body),
  })
  return reply.body.json()
}

function rewriteTokens(reply, handle) {
  const text = JSON.stringify({ ...reply, stateToken: reply.stateToken === undefined ? undefined : handle })
  return text.replaceAll(upstreamOrigin, 'https://portal.example.test')
}

async function loadGroups() {
  const reply = await upstream.request({ method: 'GET', path: '/v1/teams/bench/groups' })
  const { list } = await reply.body.json()
  const shown = list.slice(0, 100).map(({ id, name, roles }) => ({ id, name, roles }))
  return JSON.stringify({ list: shown, meta: { fetchedAt: new Date().toISOString(), stale: false } })
}

function mac(value) {
  return createHmac('sha256', KEY).update(value).digest('base64url')
}

function seal(plaintext, place) {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', KEY, nonce).setAAD(Buffer.from(place))
  const body = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, body, cipher.getAuthTag()]).toString('base64url')
}

function open(sealed, place) {
  const bytes = Buffer.from(sealed, 'base64url')
  const decipher = createDecipheriv('aes-256-gcm', KEY, bytes.subarray(0, 12)).setAAD(Buffer.from(place))
  decipher.setAuthTag(bytes.subarray(-16))
  return decipher.update(bytes.subarray(12, -16), undefined, 'utf8') + decipher.final('utf8')
}

function send(res, status, body) {
  res.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    'Cache-Control': 'no-store',
  })
  res.end(body)
}
