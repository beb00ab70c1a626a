import type { SandboxConfig } from 'gatehouse-sandbox/sandbox-config'
import type { CheckResult } from '../../../src/doctor/check.ts'
import type { DoctorOptions } from '../../../src/doctor/doctor.ts'
import { AMELIA, PASSWORD } from '../../support/harness.ts'
import { type Certificates, makeCertificates } from '../../support/redis-certificates.ts'
import { type RedisServer, type RedisServerOptions, startRedis } from '../../support/redis-server.ts'
import { type SandboxUpstream, startSandboxUpstream } from '../../support/sandbox-upstream.ts'
import { diagnoseAll, PATIENT } from '../diagnose.ts'

/** The doctor's environment and options with a fault. */
export interface ServicesChange {
  readonly env?: Readonly<Record<string, string>>
  readonly options?: DoctorOptions
}

/** A change, or how to bring one about in the services. */
export type ServicesCause =
  | ServicesChange
  | ((services: Services) => ServicesChange | undefined | Promise<ServicesChange | undefined>)

/** What the broker needs, healthy: Redis, Okta and PAM. There is no broker. */
export interface Services {
  readonly redis: RedisServer
  readonly upstream: SandboxUpstream
  readonly certificates: Certificates
  /** Of the org. The next diagnosis has it as it was. */
  readonly org: { zones: SandboxConfig['zones'] }
  /** Another Redis server, which is stopped after the diagnosis. */
  startRedis(options?: RedisServerOptions): Promise<RedisServer>
  /** Runs after the diagnosis. */
  cleanUp(run: () => unknown): void
  diagnose(cause?: ServicesCause): Promise<CheckResult[]>
  stop(): Promise<void>
}

/** For connections that never succeed. */
export const QUICK = { deadlines: { ...PATIENT, checkMs: 1500, totalMs: 30_000 } }

const PORTAL_ZONE = [{ name: 'Portal', gateways: [], proxies: ['127.0.0.1'] }]

export async function startServices(): Promise<Services> {
  let config: SandboxConfig | undefined
  const [redis, upstream] = await Promise.all([
    startRedis({ args: ['--maxmemory', '100mb'] }),
    startSandboxUpstream({
      sandboxConfig: (given) => {
        config = { ...given, zones: PORTAL_ZONE, adminTokens: given.apiTokens }
        return config
      },
    }),
  ])
  if (config === undefined) throw new Error('the sandbox has not read its configuration')
  const org = config
  const certificates = makeCertificates()
  const cleanUps: (() => unknown)[] = []
  const env = {
    REDIS_URL: redis.url,
    ...upstream.signInEnv,
    ...upstream.pamEnv,
    OPS_TOKEN: 'plainly-fake-ops-token-of-32-characters',
    SESSION_RECHECK_MINUTES: '10',
    PAM_KEY_EXPIRES_AT: '2099-01-01T00:00:00Z',
  }

  const services: Services = {
    redis,
    upstream,
    certificates,
    org,
    async startRedis(options) {
      const other = await startRedis(options)
      cleanUps.push(() => other.stop())
      return other
    },
    cleanUp: (run) => void cleanUps.push(run),
    async diagnose(cause = {}) {
      const { sandbox } = upstream
      const settings = { ...sandbox.settings }
      try {
        const change = (typeof cause === 'function' ? await cause(services) : cause) ?? {}
        const signIn = { login: AMELIA, password: PASSWORD }
        return await diagnoseAll(
          { ...env, ...change.env },
          { deadlines: PATIENT, ...signIn, ...change.options },
        )
      } finally {
        for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
        sandbox.faults.authn.clear()
        sandbox.faults.pam.clear()
        Object.assign(sandbox.settings, settings)
        org.zones = PORTAL_ZONE
      }
    },
    async stop() {
      certificates.remove()
      await Promise.all([redis.stop(), upstream.close()])
    },
  }
  return services
}
