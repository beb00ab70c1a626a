import { randomBytes, randomUUID } from 'node:crypto'
import cookie from '@fastify/cookie'
import session from '@fastify/session'
import { RedisStore } from 'connect-redis'
import createFastify from 'fastify'
import { Redis } from 'ioredis'
import { Pool } from 'undici'

/** fastify with its session plugin, undici for the upstream, and its own logger: the fastest plain setup. */

const upstreamOrigin = process.env.AUTHN_BASE_URL
const upstream = new Pool(upstreamOrigin, { connections: 128 })
const redis = new Redis(process.env.REDIS_URL, { enableAutoPipelining: true })
const { list } = await call('GET', '/v1/teams/bench/groups')
const groups = list.slice(0, 100).map(({ id, name, roles }) => ({ id, name, roles }))

const app = createFastify({ logger: true, keepAliveTimeout: 120_000 })
await app.register(cookie)
await app.register(session, {
  store: new RedisStore({ client: redis, prefix: 'fastify:sess:' }),
  secret: 'plainly-fake-bench-secret-of-32-chars',
  saveUninitialized: false,
  rolling: false,
  cookie: { secure: false, sameSite: 'lax' },
})

app.get('/api/v1/sessions/me', (req, reply) => req.session.get('person') ?? reply.code(404).send({}))
app.get('/forward-auth', (req, reply) => {
  const person = req.session.get('person')
  if (person === undefined) return reply.code(401).send()
  return reply
    .header('X-Auth-Request-User', person.userId)
    .header('X-Auth-Request-Preferred-Username', encodeURIComponent(person.login))
    .header('X-Auth-Request-Session', person.id)
    .send()
})
app.get('/api/v1/pam/groups', (req, reply) => {
  if (req.session.get('person') === undefined) return reply.code(401).send({})
  return { list: groups, meta: { fetchedAt: new Date(), stale: false } }
})
app.post('/api/v1/authn', async (req) => {
  const data = await call('POST', '/api/v1/authn', req.body)
  const handle = `00${randomBytes(32).toString('base64url')}`
  await redis.set(`fastify:txn:${handle}`, JSON.stringify({ stateToken: data.stateToken }), 'PX', 300_000)
  return rewriteTokens({ ...data, stateToken: handle })
})
app.post('/api/v1/authn/factors/:id/verify', async (req) => {
  const handle = req.body.stateToken
  const { stateToken } = JSON.parse((await redis.get(`fastify:txn:${handle}`)) ?? '{}')
  const data = await call('POST', req.url, { ...req.body, stateToken })
  if (data.status !== 'SUCCESS') {
    await redis.set(`fastify:txn:${handle}`, JSON.stringify({ stateToken }), 'PX', 300_000)
    return rewriteTokens({ ...data, stateToken: handle })
  }
  await redis.del(`fastify:txn:${handle}`)
  await req.session.regenerate()
  const { user } = data._embedded
  req.session.set('person', {
    id: randomUUID(),
    userId: user.id,
    login: user.profile.login,
    profile: user.profile,
  })
  return rewriteTokens({ ...data, sessionToken: undefined })
})

await app.listen({ port: 0, host: '127.0.0.1' })
process.send?.({ port: app.server.address().port })

async function call(method, path, body) {
  const reply = await upstream.request({
    method,
    path,
    headers: { 'content-type': 'application/json', authorization: 'SSWS plainly-fake' },
    body: body === undefined ? undefined : JSON.stringify(body),
  })
  return reply.body.json()
}

function rewriteTokens(data) {
  return JSON.parse(JSON.stringify(data).replaceAll(upstreamOrigin, 'https://portal.example.test'))
}
