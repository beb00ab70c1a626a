import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { createSeal, createSigner, type MasterKeys } from '../crypto/keys.ts'
import type { Logger } from '../observability/logger.ts'
import type { Metrics } from '../observability/metrics.ts'
import { KEYS } from '../store/keys.ts'
import { createSealedRecords } from '../store/sealed-records.ts'
import type { Store } from '../store/store.ts'
import type { ApplicationHost } from './application-hosts.ts'
import { hashState } from './state-cookie.ts'

const CodeRecord = z.object({
  version: z.literal(1),
  sessionId: z.string(),
  /** The browser had a valid bound cookie. Codes of 0.3.0 do not say so. */
  isKeyProved: z.boolean().default(false),
  /** The device of the session. */
  device: z.string(),
  /** The origin of the application's host. */
  origin: z.string(),
  target: z.string(),
  stateHash: z.string(),
})
export type HandOverRecord = Readonly<Omit<z.infer<typeof CodeRecord>, 'version'>>

const TTL_MS = 60_000
const CODE_BYTES = 32
const CODE_FORM = /^[\w-]{43}$/

export interface HandOverCodesOptions {
  readonly store: Store
  readonly masterKeys: MasterKeys
  readonly log: Logger
  readonly metrics: Metrics
}

export type HandOverCodes = ReturnType<typeof createHandOverCodes>

/** Codes that hand a session over to an application's host, for one use within a minute. */
export function createHandOverCodes({ masterKeys, ...options }: HandOverCodesOptions) {
  const records = createSealedRecords({
    ...options,
    seal: createSeal(masterKeys, 'hand-over-code'),
    nameSigner: createSigner(masterKeys, 'hand-over-code-names'),
    keyPattern: KEYS.handOverCode.pattern,
    schema: CodeRecord,
    kind: 'hand_over',
  })

  return {
    async issue(handOver: HandOverRecord): Promise<string> {
      const code = randomBytes(CODE_BYTES).toString('base64url')
      await records.write(code, { version: 1, ...handOver }, TTL_MS)
      return code
    },

    /**
     * Uses the code up: once, even for concurrent requests. undefined: unknown, used or expired.
     */
    async take(code: unknown): Promise<HandOverRecord | undefined> {
      if (typeof code !== 'string' || !CODE_FORM.test(code)) return undefined
      const found = await records.read(code)
      return found !== undefined && (await records.removeIf(found)) ? found.value : undefined
    },
  }
}

/** What arrives at the callback of a host. */
export interface Callback {
  /** What the code stood for. undefined: unknown, used or expired. */
  readonly handOver: HandOverRecord | undefined
  readonly state: string | undefined
  readonly host: Pick<ApplicationHost, 'origin'>
}

export type CallbackProblem = 'state_missing' | 'code_unknown' | 'state_wrong' | 'other_host'

/** Whether the browser at this host is the one that began the hand-over. undefined: it is. */
export function judgeCallback({ handOver, state, host }: Callback): CallbackProblem | undefined {
  if (state === undefined) return 'state_missing'
  if (handOver === undefined) return 'code_unknown'
  if (handOver.stateHash !== hashState(state)) return 'state_wrong'
  return handOver.origin === host.origin ? undefined : 'other_host'
}
