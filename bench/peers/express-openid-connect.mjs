import { generateKeyPairSync, sign } from 'node:crypto'
import { createServer } from 'node:http'
import { RedisStore } from 'connect-redis'
import express from 'express'
import oidc from 'express-openid-connect'
import { Redis } from 'ioredis'

/**
 * express-openid-connect with a Redis session store: only the session check and forward-auth. The OpenID provider is a stub
 * in this file, which is not used during measurements.
 */

const issuer = await startIssuer()
const redis = new Redis(process.env.REDIS_URL)
const app = express()
const server = app.listen(0, '127.0.0.1', () => {
  const origin = `http://127.0.0.1:${server.address().port}`
  app.use(
    oidc.auth({
      baseURL: origin,
      issuerBaseURL: issuer,
      clientID: 'bench',
      clientSecret: 'plainly-fake-bench-client-secret',
      secret: 'plainly-fake-bench-secret-of-32-chars',
      authRequired: false,
      authorizationParams: { response_type: 'code', response_mode: 'query', scope: 'openid profile' },
      session: { store: new RedisStore({ client: redis, prefix: 'oidc:sess:' }), rolling: false },
    }),
  )
  app.get('/api/v1/sessions/me', (req, res) => {
    if (!req.oidc.isAuthenticated()) res.status(404).json({})
    else {
      const { sub, sid, preferred_username: login, ...profile } = req.oidc.user
      res.json({ id: sid, userId: sub, login, profile })
    }
  })
  app.get('/forward-auth', (req, res) => {
    if (!req.oidc.isAuthenticated()) {
      res.status(401).end()
      return
    }
    const { sub, sid, preferred_username: login } = req.oidc.user
    res.set('X-Auth-Request-User', sub)
    res.set('X-Auth-Request-Preferred-Username', encodeURIComponent(login))
    res.set('X-Auth-Request-Session', sid).end()
  })
  process.send?.({ port: server.address().port })
})
server.keepAliveTimeout = 120_000

/** An OpenID provider that signs in without a prompt. */
async function startIssuer() {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'bench', alg: 'RS256', use: 'sig' }
  const issuerServer = createServer((req, res) => {
    const url = new URL(req.url, origin)
    const json = (value) => res.setHeader('content-type', 'application/json').end(JSON.stringify(value))
    if (url.pathname === '/.well-known/openid-configuration') return json(metadata())
    if (url.pathname === '/jwks') return json({ keys: [jwk] })
    if (url.pathname === '/token') {
      let form = ''
      req.on('data', (chunk) => {
        form += chunk
      })
      req.on('end', () => {
        const nonce = new URLSearchParams(form).get('code')
        json({
          access_token: 'plainly-fake',
          token_type: 'Bearer',
          expires_in: 3600,
          id_token: idToken(nonce),
        })
      })
      return undefined
    }
    const back = new URL(url.searchParams.get('redirect_uri'))
    back.searchParams.set('code', url.searchParams.get('nonce'))
    back.searchParams.set('state', url.searchParams.get('state'))
    return res.writeHead(302, { location: back.href }).end()
  })
  await new Promise((resolve) => issuerServer.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${issuerServer.address().port}`
  return origin

  function metadata() {
    return {
      issuer: origin,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
      jwks_uri: `${origin}/jwks`,
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
    }
  }

  function idToken(nonce) {
    const seconds = Math.floor(Date.now() / 1000)
    const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const claims = {
      iss: origin,
      sub: `00u${nonce.slice(0, 17)}`,
      aud: 'bench',
      iat: seconds,
      exp: seconds + 3600,
      nonce,
      sid: `bench-${nonce.slice(0, 12)}`,
      preferred_username: 'bench.person@example.test',
      name: 'Bench Person',
      locale: 'en',
    }
    const head = `${part({ alg: 'RS256', kid: 'bench' })}.${part(claims)}`
    return `${head}.${sign('sha256', Buffer.from(head), privateKey).toString('base64url')}`
  }
}
