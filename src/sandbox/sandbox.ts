import { randomBytes } from 'node:crypto'
import type { Express, Request } from 'express'
import { createAuthnApp } from './authn/authn-app.ts'
import { createOrg } from './authn/create-org.ts'
import type { RandomBytes } from './authn/issued-tokens.ts'
import { type AuthnControl, createAuthnControl } from './control.ts'
import { createControlRoutes, type PerApi } from './control-routes.ts'
import { createFaults, type Faults } from './faults.ts'
import { type Listener, listen } from './listen.ts'
import type { PamControl } from './pam/pam-control.ts'
import { createPamSandbox } from './pam/pam-sandbox.ts'
import { createPhones, type Phones } from './phone.ts'
import { createRequestLog, type RequestLog } from './request-log.ts'
import type { SandboxConfig } from './sandbox-config.ts'

export type SandboxAddresses = {
  authnUrl: string
  pamUrl: string
  /** Ends both listeners and every open connection. */
  close(): Promise<void>
}

export type Sandbox = AuthnControl & {
  authn: Express
  pam: Express
  pamControl: PamControl
  /** What users have in their hands: apps with codes, sign-in requests, tokens. */
  phone: Phones
  /** What arrived at each API, oldest first. Control calls are not in it. */
  requestLog: PerApi<RequestLog>
  faults: PerApi<Faults>
  /** Everybody and everything as in the configuration; logs and faults of both APIs are emptied. */
  reset(): void
  /** Port 0, the default, is a free port; the host is 127.0.0.1 unless given. */
  listen(where?: { authnPort?: number; pamPort?: number; host?: string }): Promise<SandboxAddresses>
}

/**
 * Both upstream APIs, stateful and in one process.
 *
 * @param config of `loadSandboxConfig()` or `parseSandboxConfig(data)`
 * @param now milliseconds; every lifetime, limit and code goes by it
 * @param random so many random bytes, for tokens, codes and challenges
 * @param linkOrigin what links in answers begin with; default: where the sandbox listens
 */
export function createSandbox({
  config,
  now = Date.now,
  random = randomBytes,
  linkOrigin,
}: {
  config: SandboxConfig
  now?: () => number
  random?: RandomBytes
  linkOrigin?: string
}): Sandbox {
  const org = createOrg({ config, now, random })
  const requestLog = { authn: createRequestLog({ now }), pam: createRequestLog({ now }) }
  const faults = { authn: createFaults(), pam: createFaults() }
  let listening: Listener | undefined
  const originOf = (req: Request) => linkOrigin ?? listening?.url ?? `http://${req.headers.host}`

  const pam = createPamSandbox({
    config: config.pam,
    now,
    random,
    faults: faults.pam,
    requestLog: requestLog.pam,
  })
  const control = createAuthnControl(org)
  const routes = createControlRoutes({
    org,
    control,
    requestLog,
    faults,
    pamControl: pam.control,
    reset,
  })
  const authn = createAuthnApp({
    org,
    requestLog: requestLog.authn,
    faults: faults.authn,
    control: routes,
    originOf,
  })

  function reset() {
    org.reset()
    pam.control.reset()
    for (const api of ['authn', 'pam'] as const) {
      requestLog[api].clear()
      faults[api].clear()
    }
  }

  return {
    ...control,
    authn,
    pam: pam.app,
    pamControl: pam.control,
    phone: createPhones({ org, user: control.user }),
    requestLog,
    faults,
    reset,
    async listen({ authnPort = 0, pamPort = 0, host = '127.0.0.1' } = {}) {
      const authnListening = await listen(authn, { port: authnPort, host })
      listening = authnListening
      try {
        const pamListening = await listen(pam.app, { port: pamPort, host })
        return {
          authnUrl: authnListening.url,
          pamUrl: pamListening.url,
          async close() {
            await Promise.all([authnListening.close(), pamListening.close()])
          },
        }
      } catch (error) {
        await authnListening.close()
        throw error
      }
    },
  }
}
