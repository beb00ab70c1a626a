import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type IncomingHttpHeaders, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { text } from 'node:stream/consumers'
import type { CheckResult } from '../../../src/doctor/check.ts'
import type { DoctorOptions } from '../../../src/doctor/doctor.ts'
import { freePort, type Gatehouse, startGatehouse, TEST_KEY } from '../../support/gatehouse.ts'
import { type Certificates, makeCertificates } from '../../support/redis-certificates.ts'
import { type RedisServer, startRedis } from '../../support/redis-server.ts'
import { type SandboxUpstream, startSandboxUpstream } from '../../support/sandbox-upstream.ts'
import { diagnoseAll, PATIENT } from '../diagnose.ts'

/** How a proxy in front of the broker treats requests and responses. */
export interface Rewrites {
  /** Headers of the request to add, replace, or remove (undefined). Default: `WRITTEN`. */
  readonly request?: (headers: IncomingHttpHeaders, url: string) => IncomingHttpHeaders
  readonly response?: (headers: IncomingHttpHeaders, url: string) => IncomingHttpHeaders
  /** The port of 127.0.0.1 to which a request goes. Default: the broker's. */
  readonly portOf?: (path: string, headers: IncomingHttpHeaders) => string | number | undefined
  readonly path?: (path: string) => string
  /** The paths that are not for browsers: 404. Default: those of `deploy/proxies`. */
  readonly isClosed?: (path: string) => boolean
  /** Answers instead of the broker. Resolves with true if it has answered. */
  readonly intercept?: (req: IncomingMessage, res: ServerResponse) => boolean | Promise<boolean>
  /** The status with which it refuses a request that has this body. */
  readonly refuseBody?: (body: string) => number | undefined
  readonly changeBody?: (body: string) => string
  /** Answers instead of the broker when it has. */
  readonly replace?: (answer: IncomingMessage, res: ServerResponse) => boolean
}

/** What a fault changes. */
export interface Change {
  /** The portal's proxy. */
  readonly proxy?: Rewrites
  /** The proxy of an application's host. */
  readonly application?: Rewrites
  /** The doctor's own environment. */
  readonly env?: Readonly<Record<string, string>>
  readonly options?: DoctorOptions
}

/** A change, or how to bring one about around the portal. */
export type PortalCause = Change | ((portal: Portal) => Change | Promise<Change>)

/**
 * A broker with everything that it may have, healthy: https, device-bound sessions, an event hook,
 * another origin, an application on its own host, Redis, Okta and PAM.
 */
export interface Portal {
  /** The environment of broker and doctor. */
  readonly env: Readonly<Record<string, string>>
  readonly gatehouse: Gatehouse
  readonly redis: RedisServer
  readonly upstream: SandboxUpstream
  readonly certificates: Certificates
  /** Such as `localhost:8443`. */
  readonly host: string
  readonly applicationHost: string
  /** A second broker, with this environment on top. Resolves with its port. */
  startReplica(env: Readonly<Record<string, string>>, now?: () => number): Promise<string>
  /** Runs after the diagnosis. */
  cleanUp(run: () => unknown): void
  diagnose(cause?: PortalCause): Promise<CheckResult[]>
  stop(): Promise<void>
}

/** The address of a client, for documentation (RFC 5737). */
export const CLIENT = '203.0.113.9'
/** What the proxy writes into each request. */
export const WRITTEN: IncomingHttpHeaders = { 'x-forwarded-for': CLIENT }

export async function startPortal(): Promise<Portal> {
  const [port, applicationPort] = [await freePort(), await freePort()]
  const [redis, upstream] = await Promise.all([
    startRedis({ password: 'plainly-fake-password', args: ['--maxmemory', '100mb'] }),
    startSandboxUpstream({ sandboxConfig: (config) => ({ ...config, adminTokens: config.apiTokens }) }),
  ])
  const certificates = makeCertificates()
  const [host, applicationHost] = [`localhost:${port}`, `localhost:${applicationPort}`]
  const env: Record<string, string> = {
    PUBLIC_URL: `https://${host}`,
    SECRET_KEYS: TEST_KEY,
    ...upstream.signInEnv,
    ...upstream.pamEnv,
    REDIS_URL: redis.url,
    TRUST_PROXY: '127.0.0.1/32',
    UPSTREAM_CA_FILE: certificates.caFile,
    OPS_TOKEN: 'plainly-fake-ops-token-of-32-characters',
    APP_TOKENS: 'portal:plainly-fake-app-token-of-32-characters',
    ALLOWED_ORIGINS: 'https://localhost:3999',
    EVENT_HOOK_SECRET: 'plainly-fake-event-hook-secret',
    RETURN_TO: `https://${applicationHost}/wiki`,
    JWT_AUDIENCES: 'reports',
    STEP_UP: 'on',
    SSO_REDIRECTS: `${upstream.authnUrl}/app/`,
    DEVICE_BOUND_SESSIONS: 'on',
    SESSION_RECHECK_MINUTES: '10',
  }
  const gatehouse = await startGatehouse({ env })
  const portal = await openProxy(port, certificates, portOf(gatehouse))
  const application = await openProxy(applicationPort, certificates, portOf(gatehouse))
  const onApplication: Rewrites = {
    request: write({ 'x-forwarded-host': applicationHost }),
    isClosed: (path) => path === '/forward-auth',
  }
  const cleanUps: (() => unknown)[] = []

  const around: Portal = {
    env,
    gatehouse,
    redis,
    upstream,
    certificates,
    host,
    applicationHost,
    async startReplica(more, now) {
      const replica = await startGatehouse({
        env: { ...env, ...more },
        ...(now === undefined ? {} : { now }),
      })
      cleanUps.push(() => replica.stop())
      return portOf(replica)
    },
    cleanUp: (run) => void cleanUps.push(run),
    async diagnose(cause = {}) {
      try {
        const change = typeof cause === 'function' ? await cause(around) : cause
        portal.use(change.proxy ?? {})
        application.use({ ...onApplication, ...change.application })
        return await diagnoseAll({ ...env, ...change.env }, { deadlines: PATIENT, ...change.options })
      } finally {
        for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
        upstream.sandbox.faults.authn.clear()
        upstream.sandbox.faults.pam.clear()
      }
    },
    async stop() {
      await Promise.all([portal.close(), application.close(), gatehouse.stop()])
      await Promise.all([redis.stop(), upstream.close()])
      certificates.remove()
    },
  }
  return around
}

const portOf = ({ url }: Gatehouse) => new URL(url).port
const isForOthers = (path: string) => /^\/(forward-auth|app\/v1)\b/.test(path)

/** A proxy whose faults change. */
async function openProxy(port: number, { certFile, keyFile }: Certificates, brokerPort: string) {
  let rewrites: Rewrites = {}
  const server = createServer(
    { cert: readFileSync(certFile), key: readFileSync(keyFile), maxHeaderSize: 65_536 },
    async (req, res) => {
      const { method, url = '', headers } = req
      if (await rewrites.intercept?.(req, res)) return
      if ((rewrites.isClosed ?? isForOthers)(url)) return void res.writeHead(404).end()
      const written = { ...headers, ...(rewrites.request?.(headers, url) ?? WRITTEN) }
      const forwarded = request(
        {
          host: '127.0.0.1',
          port: rewrites.portOf?.(url, headers) ?? brokerPort,
          method,
          path: rewrites.path?.(url) ?? url,
          headers: Object.fromEntries(Object.entries(written).filter(([, value]) => value !== undefined)),
        },
        (answered) => {
          // a proxy that did not wait has answered already
          if (res.headersSent || rewrites.replace?.(answered, res)) return void answered.resume()
          res.writeHead(
            answered.statusCode ?? 502,
            rewrites.response?.(answered.headers, url) ?? answered.headers,
          )
          answered.pipe(res)
        },
      )
      forwarded.on('error', () => res.headersSent || res.destroy())
      const { refuseBody, changeBody = (same: string) => same } = rewrites
      if (refuseBody === undefined && rewrites.changeBody === undefined) return void req.pipe(forwarded)
      const body = changeBody(await text(req))
      forwarded.setHeader('content-length', Buffer.byteLength(body))
      const refused = refuseBody?.(body)
      if (refused === undefined) return void forwarded.end(body)
      res.writeHead(refused).end()
      forwarded.destroy()
    },
  )
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    use(next: Rewrites) {
      rewrites = next
      server.closeAllConnections()
    },
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

/** For `intercept`: answers these requests itself. */
export const when =
  (isConcerned: (req: IncomingMessage) => boolean, status: number, headers = {}, body = '') =>
  (req: IncomingMessage, res: ServerResponse): boolean =>
    isConcerned(req) && Boolean(res.writeHead(status, headers).end(body))

/** For `intercept`: answers all requests itself. */
export const always = (status: number, headers = {}, body = '') => when(() => true, status, headers, body)

/** For `response`. */
export const without =
  (...names: string[]) =>
  (headers: IncomingHttpHeaders): IncomingHttpHeaders =>
    Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)))

/** For `request`. */
export const drop =
  (...names: string[]) =>
  (): IncomingHttpHeaders => ({
    ...WRITTEN,
    ...Object.fromEntries(names.map((name) => [name, undefined])),
  })

/** For `request`. */
export const write = (headers: IncomingHttpHeaders) => (): IncomingHttpHeaders => ({ ...WRITTEN, ...headers })

/** For `response`. */
export const add =
  (more: IncomingHttpHeaders) =>
  (headers: IncomingHttpHeaders): IncomingHttpHeaders => ({ ...headers, ...more })
