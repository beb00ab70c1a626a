import { z } from 'zod'
import type { Seal, Signer } from '../../crypto/keys.ts'
import { invalidField, unknownHandle } from '../../errors.ts'
import { allowedTarget, type RedirectPrefix } from '../../http/redirect-target.ts'
import type { Logger } from '../../observability/logger.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { SessionRecords } from '../../session/session-records.ts'
import { KEYS } from '../../store/keys.ts'
import { createSealedRecords, type SealedRecord } from '../../store/sealed-records.ts'
import type { Store } from '../../store/store.ts'
import type { StepAudit } from '../audit/step-audit.ts'
import type { Client } from '../browser/client.ts'
import { isHandle } from '../transaction/transaction-store.ts'
import { oktaSignOutUrl } from './okta-sign-out.ts'

export interface SsoTokensOptions {
  readonly allowed: readonly RedirectPrefix[]
  readonly upstreamOrigin: string
  readonly publicOrigin: string
  /** Whether the browser's Okta session ends before a redemption. */
  readonly signsOut: boolean
  /** For `signedOut` of the URL to which Okta's sign-out returns. */
  readonly returnSigner: Signer
  readonly store: Store
  readonly seal: Seal
  readonly nameSigner: Signer
  readonly sessions: Pick<SessionRecords, 'get' | 'getFor'>
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

/** The query of a redemption, unchecked. */
export interface Redemption {
  readonly token?: unknown
  readonly redirectUrl?: unknown
  /** Set by the broker, for the return from Okta's sign-out. */
  readonly signedOut?: unknown
}

const PATH = '/login/sessionCookieRedirect'

/**
 * Single sign-on: stores Okta's one-use session token. The browser gets an SSO token, which is a
 * handle for one use by this device. It is valid as long as the session token and the browser's
 * session.
 *
 * Okta ignores a session token if the browser has an Okta session, maybe another user's. So the
 * browser can be sent to Okta's sign-out first. It returns with the same redemption and
 * `signedOut`, which names the handle. The URL tells it, not the stored record: the second click of
 * a double click repeats the first request, and must not skip the sign-out.
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
      keyPattern: KEYS.ssoToken.pattern,
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

  /**
   * The URL at Okta: the sign-out, or the redemption with the session token, which is deleted here:
   * once, even for concurrent requests.
   */
  async redeem({ token: handle, redirectUrl, signedOut }: Redemption, client: Client): Promise<string> {
    const { allowed, upstreamOrigin, signsOut, sessions, log } = this.#options
    const { device, requestId, address } = client
    const target = allowedTarget(redirectUrl, allowed)
    if (target === undefined) throw invalidField('redirectUrl: is not among the allowed targets')
    if (typeof handle !== 'string' || !isHandle(handle)) throw unknownHandle(device.returned)
    const isDue = !signsOut || this.#isReturn(handle, signedOut)
    const found = await this.#find(handle, client)
    // 503 if the bound cookie is not renewed: the token is still there then
    const session = found && (await sessions.getFor(found.value.sessionId, client))
    const isTaken = found !== undefined && (!isDue || (await this.#records.removeIf(found)))
    if (!isTaken || session === undefined) throw unknownHandle(device.returned)
    const record = found.value
    if (!isDue) return oktaSignOutUrl(upstreamOrigin, this.#returnUrl(handle, target))
    const { userId, loginHash, publicId: sessionId, deviceHash } = session
    log.audit('sso_token_redeemed', { requestId, address, userId, loginHash, deviceHash, sessionId })
    const url = new URL(PATH, upstreamOrigin)
    url.searchParams.set('checkAccountSetupComplete', 'true')
    url.searchParams.set('token', record.sessionToken)
    url.searchParams.set('redirectUrl', target)
    return url.href
  }

  #returnUrl(handle: string, target: string): string {
    const { publicOrigin, returnSigner } = this.#options
    const query = { token: handle, redirectUrl: target, signedOut: returnSigner.sign(handle) }
    return `${publicOrigin}${PATH}?${new URLSearchParams(query)}`
  }

  #isReturn(handle: string, signedOut: unknown): boolean {
    return typeof signedOut === 'string' && this.#options.returnSigner.verify(handle, signedOut) !== 'wrong'
  }

  /** Returns the record to its own device. */
  async #find(handle: string, client: Client): Promise<SealedRecord<SsoRecord> | undefined> {
    const { sessions, audit } = this.#options
    const record = await this.#records.read(handle)
    if (record === undefined) return undefined
    const { sessionId, device } = record.value
    if (device === client.device.id) return record
    const session = await sessions.get(sessionId, device)
    audit.handleFromOtherDevice({ userId: session?.userId, login: session?.login, device }, client)
    return undefined
  }
}
