import { RedisStore } from 'connect-redis'
import express from 'express'
import oidc from 'express-openid-connect'
import { Redis } from 'ioredis'

/** express-openid-connect with a Redis session store: only the session check and forward-auth. */

const redis = new Redis(process.env.REDIS_URL)
const app = express()
const server = app.listen(0, '127.0.0.1', () => {
  const { port } = server.address()
  app.use(
    oidc.auth({
      baseURL: `http://127.0.0.1:${port}`,
      issuerBaseURL: process.env.AUTHN_BASE_URL,
      clientID: 'bench',
      secret: 'plainly-fake-bench-secret-of-32-chars',
      authRequired: false,
      session: { store: new RedisStore({ client: redis, prefix: 'oidc:sess:' }), rolling: false },
    }),
  )
  app.get('/api/v1/sessions/me', (req, res) => {
    if (!req.oidc.isAuthenticated()) return res.status(404).json({})
    const { sub, sid, preferred_username: login, ...profile } = req.oidc.user
    return res.json({ id: sid, userId: sub, login, profile })
  })
  app.get('/forward-auth', (req, res) => {
    if (!req.oidc.isAuthenticated()) return res.status(401).end()
    const { sub, sid, preferred_username: login } = req.oidc.user
    res.set('X-Auth-Request-User', sub)
    res.set('X-Auth-Request-Preferred-Username', encodeURIComponent(login))
    return res.set('X-Auth-Request-Session', sid).end()
  })
  process.send?.({ port })
})
server.keepAliveTimeout = 120_000
