import type { Signer } from '../../crypto/sign.ts'
import { sentRecently } from '../../errors.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { Store } from '../../store/store.ts'
import { mayHaveArrived } from '../../upstream/upstream-failure.ts'
import type { StepAudit } from '../audit.ts'
import type { Client } from '../browser/client.ts'

/**
 * One code in a while for a name and a way, whether there is such a user or not, in the first place or sent again. Throws
 * 429 at once; else gives what sends the code.
 */
export type RecoveryPause = (message: RecoveryMessage, client: Client) => Promise<SendCode>

/** If nothing was sent, the next code need not wait. */
export type SendCode = <Result>(send: () => Promise<Result>) => Promise<Result>

export interface RecoveryMessage {
  readonly operation: string
  readonly factorType: 'SMS' | 'CALL'
  /** As typed. */
  readonly login: string
}

export interface RecoveryPauseParts {
  readonly store: Pick<Store, 'set' | 'delete'>
  /** Names in the store are HMACs. */
  readonly names: Signer
  readonly canonicalLogin: (login: string) => string
  readonly audit: Pick<StepAudit, 'limitHit'>
  readonly resendAfterMs: number
  readonly metrics: Metrics
}

export function createRecoveryPause(parts: RecoveryPauseParts): RecoveryPause {
  const { store, names, canonicalLogin, audit, resendAfterMs, metrics } = parts

  const placeOf = ({ login, factorType }: RecoveryMessage) =>
    `gatehouse:limit:recovery-sent:${names.sign(JSON.stringify([canonicalLogin(login), factorType]))}`

  return async (message, client) => {
    const place = placeOf(message)
    if (!(await store.set(place, '1', resendAfterMs, 'absent'))) {
      const limit = 'recovery_sent'
      const retryAfterSeconds = Math.ceil(resendAfterMs / 1000)
      metrics.limitHits.inc({ limit })
      audit.limitHit({ limit, ...message, retryAfterSeconds }, client)
      throw sentRecently(message.factorType, retryAfterSeconds)
    }
    return async (send) => {
      try {
        return await send()
      } catch (error) {
        if (!mayHaveArrived(error)) await store.delete(place)
        throw error
      }
    }
  }
}
