import { randomBytes } from 'node:crypto'
import { createSigner } from '../crypto/keys.ts'
import { type ProbeAnswer, STORE_NONCE, storedValue } from '../http/doctor-probe.ts'
import type { DoctorContext } from './check.ts'
import { type Finding, fail, ok, skipped } from './finding.ts'
import type { SendProbe } from './probes.ts'
import { withStoredValue } from './redis.ts'

/** Several replicas may be behind the proxy. */
const PROBES = 4

/**
 * Whether the broker that answers at PUBLIC_URL uses the Redis of REDIS_URL, its database and its
 * key prefix: it must find what the doctor has written there.
 */
export function checkSharedStore(context: DoctorContext, probe: SendProbe): Promise<Finding> {
  const nonce = STORE_NONCE + randomBytes(15).toString('hex')
  const signer = createSigner(context.config.secretKeys.value, 'doctor-probe') // as in wiring.ts
  const stored = { name: nonce, value: storedValue(nonce, signer) }
  return withStoredValue(context, stored, async () => {
    const probes = await Promise.all(Array.from({ length: PROBES }, () => probe({ nonce })))
    return judgeSharedStore(probes.map(({ answer }) => answer?.store))
  })
}

export function judgeSharedStore(found: readonly ProbeAnswer['store'][]): Finding {
  const answers = found.filter((each) => each !== undefined)
  if (answers.includes('missing'))
    return fail(
      'the running broker, or one of its replicas, uses another Redis, database or key prefix than the doctor',
      'Give all replicas and the doctor the same REDIS_URL and REDIS_KEY_PREFIX. If they have, this address leads to several servers: use that of the primary.',
    )
  if (answers.includes('failed'))
    return fail(
      'the running broker cannot read its Redis',
      'Look at `store` in /readyz, and for dependency_failed in the log of the broker.',
    )
  if (answers.length === 0) return skipped('the running broker does not say it')
  return ok('the running broker uses this Redis')
}
