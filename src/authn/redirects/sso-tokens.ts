import { z } from 'zod'
import type { Seal, Signer } from '../../crypto/keys.ts'
import { invalidField, unknownHandle } from '../../errors.ts'
import type { Logger } from '../../observability/logger.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { Sessions } from '../../session/sessions.ts'
import { createSealedRecords } from '../../store/sealed-records.ts'
import type { Store } from '../../store/store.ts'
import type { StepAudit } from '../audit.ts'
import type { Client } from '../browser/client.ts'
import { isHandle } from '../transaction/transaction-store.ts'
import { allowedTarget, type RedirectPrefix } from './redirect-target.ts'

export interface SsoTokensOptions {
  readonly allowed: readonly RedirectPrefix[]
  readonly upstreamOrigin: string
  readonly store: Store
  readonly seal: Seal
  readonly names: Signer
  readonly sessions: Pick<Sessions, 'get'>
  readonly audit: Pick<StepAudit, 'handleFromOtherDevice'>
  readonly log: Logger
  readonly metrics: Metrics
}

/** The lifetime of Okta's session token (docs/conformance.md F-1.20). */
const TTL_MS = 300_000

const SsoRecord = z.object({
  version: z.literal(1),
  sessionToken: z.string(),
  sessionId: z.string(),
  device: z.string(),
})
type SsoRecord = z.infer<typeof SsoRecord>

/**
 * Single sign-on: stores Okta's one-use session token. The browser gets an SSO token, which is a handle for one use by
 * this device. It is valid as long as the session token and the browser's session.
 */
export class SsoTokens {
  readonly isEnabled: boolean
  readonly #options: SsoTokensOptions
  readonly #records: ReturnType<typeof createSealedRecords<SsoRecord>>

  constructor(options: SsoTokensOptions) {
    this.isEnabled = options.allowed.length > 0
    this.#options = options
    this.#records = createSealedRecords({
      ...options,
      keyPattern: 'sso:*',
      schema: SsoRecord,
      kind: 'sso',
    })
  }

  async write(handle: string, sessionToken: string, sessionId: string, { device }: Client): Promise<void> {
    await this.#records.write(handle, { version: 1, sessionToken, sessionId, device: device.id }, TTL_MS)
  }

  async remove(handle: string): Promise<void> {
    await this.#records.remove(handle)
  }

  /** The URL at Okta, with the session token, which is deleted here. */
  async redeem(handle: unknown, redirectUrl: unknown, client: Client): Promise<string> {
    const { allowed, upstreamOrigin, sessions, log } = this.#options
    const { device, requestId, address } = client
    const target = allowedTarget(redirectUrl, allowed)
    if (target === undefined) throw invalidField('redirectUrl: is not among the allowed targets')
    if (typeof handle !== 'string' || !isHandle(handle)) throw unknownHandle(device.returned)
    const kept = await this.#take(handle, client)
    const session = kept === undefined ? undefined : await sessions.get(kept.sessionId, device.id)
    if (kept === undefined || session === undefined) throw unknownHandle(device.returned)
    const { userId, loginHash, publicId: sessionId, deviceHash } = session
    log.audit('sso_token_redeemed', { requestId, address, userId, loginHash, deviceHash, sessionId })
    const url = new URL('/login/sessionCookieRedirect', upstreamOrigin)
    url.searchParams.set('checkAccountSetupComplete', 'true')
    url.searchParams.set('token', kept.sessionToken)
    url.searchParams.set('redirectUrl', target)
    return url.href
  }

  /** Returns the record to its own device, once, even to concurrent requests. */
  async #take(handle: string, client: Client): Promise<SsoRecord | undefined> {
    const { sessions, audit } = this.#options
    const record = await this.#records.read(handle)
    if (record === undefined) return undefined
    const { sessionId, device } = record.value
    if (device === client.device.id) return (await this.#records.removeIf(record)) ? record.value : undefined
    const session = await sessions.get(sessionId, device)
    audit.handleFromOtherDevice({ userId: session?.userId, login: session?.login, device }, client)
    return undefined
  }
}
