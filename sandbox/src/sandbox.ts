import { randomBytes } from 'node:crypto'
import type { Express, Request } from 'express'
import { createAuthnApp } from './authn/authn-app.ts'
import { createOrg } from './authn/create-org.ts'
import type { RandomBytes } from './authn/issued-tokens.ts'
import { type AuthnControl, createAuthnControl } from './control.ts'
import { type AllFaults, createControlRoutes, type PerApi } from './control-routes.ts'
import { createDeliveryFaults } from './delivery-faults.ts'
import { createEventHook, type EventHook } from './event-hook.ts'
import { createFaults } from './faults.ts'
import { type Listener, listen } from './listen.ts'
import type { OrgEvent } from './org-events.ts'
import type { PamControl } from './pam/pam-control.ts'
import { createPamSandbox } from './pam/pam-sandbox.ts'
import { createPhones, type Phones } from './phone.ts'
import { createRequestLog, type RequestLog } from './request-log.ts'
import type { SandboxConfig } from './sandbox-config.ts'

export type SandboxAddresses = {
  authnUrl: string
  pamUrl: string
  /** Closes both listeners and all open connections. */
  close(): Promise<void>
}

export type ListenOptions = {
  authnPort?: number | undefined
  pamPort?: number | undefined
  host?: string | undefined
}

export type Sandbox = AuthnControl & {
  authn: Express
  pam: Express
  pamControl: PamControl
  phone: Phones
  /** The requests that each API received, without control requests. */
  requestLog: PerApi<RequestLog>
  faults: AllFaults
  eventHook: EventHook
  /** Restores the configured state and clears all logs and faults. */
  reset(): void
  /** Port 0, the default, picks a free port. The default host is 127.0.0.1. */
  listen(options?: ListenOptions): Promise<SandboxAddresses>
}

/**
 * Simulates Okta's classic Authentication API and the PAM API, with their state, in one process.
 *
 * @param config from `loadSandboxConfig()` or `parseSandboxConfig(data)`
 * @param now milliseconds; the clock for all lifetimes, limits and codes
 * @param random returns random bytes for tokens, codes and challenges
 * @param resetAll what `POST /sandbox/reset` does; default: `reset`
 * @param linkOrigin the origin of links in responses; default: the address that the sandbox listens
 * on
 */
export function createSandbox({
  config,
  now = Date.now,
  random = randomBytes,
  resetAll,
  linkOrigin,
}: {
  config: SandboxConfig
  now?: () => number
  random?: RandomBytes
  resetAll?: () => void | Promise<void>
  linkOrigin?: string
}): Sandbox {
  const requestLog = { authn: createRequestLog({ now }), pam: createRequestLog({ now }) }
  const faults = { authn: createFaults(), pam: createFaults(), events: createDeliveryFaults() }
  let listener: Listener | undefined
  const ownOrigin = () => linkOrigin ?? listener?.url
  const originOf = (req: Request) => ownOrigin() ?? `http://${req.headers.host}`
  const events: OrgEvent[] = []
  const eventHook = createEventHook({
    record: (event) => events.push(event),
    now,
    random,
    originOf: () => ownOrigin() ?? 'http://localhost',
    faults: faults.events,
  })
  const org = createOrg({ config, now, random, sendEvent: eventHook.send, events })

  const pam = createPamSandbox({
    config: config.pam,
    now,
    random,
    faults: faults.pam,
    requestLog: requestLog.pam,
  })
  const control = createAuthnControl(org)
  const controlRoutes = createControlRoutes({
    org,
    control,
    requestLog,
    faults,
    eventHook,
    pamControl: pam.control,
    reset: resetAll ?? reset,
  })
  const authn = createAuthnApp({
    org,
    requestLog: requestLog.authn,
    faults: faults.authn,
    eventHook,
    control: controlRoutes,
    originOf,
  })

  function reset() {
    org.reset()
    pam.control.reset()
    eventHook.clear()
    for (const each of [...Object.values(requestLog), ...Object.values(faults)]) each.clear()
  }

  return {
    ...control,
    authn,
    pam: pam.app,
    pamControl: pam.control,
    phone: createPhones({ org, user: control.user }),
    requestLog,
    faults,
    eventHook,
    reset,
    async listen({ authnPort = 0, pamPort = 0, host = '127.0.0.1' } = {}) {
      const authnListener = await listen(authn, { port: authnPort, host })
      listener = authnListener
      try {
        const pamListener = await listen(pam.app, { port: pamPort, host })
        return {
          authnUrl: authnListener.url,
          pamUrl: pamListener.url,
          async close() {
            faults.events.clear()
            await Promise.all([authnListener.close(), pamListener.close()])
          },
        }
      } catch (error) {
        await authnListener.close()
        throw error
      }
    },
  }
}
