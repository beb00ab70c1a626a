import { randomBytes } from 'node:crypto'
import axios from 'axios'
import { RedisStore } from 'connect-redis'
import express from 'express'
import session from 'express-session'
import helmet from 'helmet'
import { Redis } from 'ioredis'
import { v4 as uuid } from 'uuid'
import winston from 'winston'

/**
 * The same packages as Gatehouse, set up as their documentation shows: the first version of a
 * broker.
 */

const upstreamOrigin = process.env.AUTHN_BASE_URL
const upstream = axios.create({ baseURL: upstreamOrigin, headers: { authorization: 'SSWS plainly-fake' } })
const redis = new Redis(process.env.REDIS_URL)
const log = winston.createLogger({
  format: winston.format.combine(winston.format.timestamp(), winston.format.json()),
  transports: [new winston.transports.Console()],
})
const { list } = (await upstream.get('/v1/teams/bench/groups')).data
const groups = list.slice(0, 100).map(({ id, name, roles }) => ({ id, name, roles }))

const app = express()
app.use((req, res, next) => {
  const requestId = uuid()
  res.set('X-Request-Id', requestId)
  res.on('finish', () =>
    log.info('request', { requestId, method: req.method, path: req.path, status: res.statusCode }),
  )
  next()
})
app.use(helmet())
app.use(express.json())
app.use(
  session({
    store: new RedisStore({ client: redis, prefix: 'plain:sess:' }),
    secret: 'plainly-fake-bench-secret',
    resave: false,
    saveUninitialized: false,
    cookie: { httpOnly: true, sameSite: 'lax' },
  }),
)

app.get('/api/v1/sessions/me', (req, res) => {
  if (req.session.user === undefined) res.status(404).json({})
  else res.json(req.session.user)
})
app.get('/forward-auth', (req, res) => {
  const { user } = req.session
  if (user === undefined) {
    res.status(401).end()
    return
  }
  res.set('X-Auth-Request-User', user.userId)
  res.set('X-Auth-Request-Preferred-Username', encodeURIComponent(user.login))
  res.set('X-Auth-Request-Session', user.id).end()
})
app.get('/api/v1/pam/groups', (req, res) => {
  if (req.session.user === undefined) res.status(401).json({})
  else res.json({ list: groups, meta: { fetchedAt: new Date(), stale: false } })
})
app.post('/api/v1/authn', async (req, res) => {
  const { data } = await upstream.post('/api/v1/authn', req.body)
  const handle = `00${randomBytes(32).toString('base64url')}`
  await redis.set(`plain:txn:${handle}`, JSON.stringify({ stateToken: data.stateToken }), 'PX', 300_000)
  res.json(rewriteTokens({ ...data, stateToken: handle }))
})
app.post('/api/v1/authn/factors/:id/verify', async (req, res) => {
  const handle = String(req.body.stateToken)
  const { stateToken } = JSON.parse((await redis.get(`plain:txn:${handle}`)) ?? '{}')
  const { data } = await upstream.post(req.path, { ...req.body, stateToken })
  if (data.status !== 'SUCCESS') {
    await redis.set(`plain:txn:${handle}`, JSON.stringify({ stateToken }), 'PX', 300_000)
    res.json(rewriteTokens({ ...data, stateToken: handle }))
    return
  }
  await redis.del(`plain:txn:${handle}`)
  await new Promise((resolve) => req.session.regenerate(resolve))
  const { user } = data._embedded
  req.session.user = { id: uuid(), userId: user.id, login: user.profile.login, profile: user.profile }
  res.json(rewriteTokens({ ...data, sessionToken: undefined }))
})

const server = app.listen(0, '127.0.0.1', () => {
  process.send?.({ port: server.address().port })
})
server.keepAliveTimeout = 120_000

function rewriteTokens(data) {
  return JSON.parse(JSON.stringify(data).replaceAll(upstreamOrigin, 'https://portal.example.test'))
}
