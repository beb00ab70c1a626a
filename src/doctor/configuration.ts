import { randomBytes } from 'node:crypto'
import type { Config } from '../config/load-config.ts'
import { sharedConfiguration } from '../config/shared-configuration.ts'
import { createSigner } from '../crypto/keys.ts'
import { CONFIGURATION_NONCE, configurationTags, type ProbeAnswer } from '../http/doctor-probe.ts'
import { type Finding, ok, skipped, warn } from './finding.ts'
import type { SendProbe } from './probes.ts'

/** Several replicas may be behind the proxy. */
const PROBES = 4

/**
 * Whether each replica runs with the doctor's configuration: after a change, one may not have been
 * restarted.
 */
export async function checkConfiguration(config: Config, probe: SendProbe): Promise<Finding> {
  const ask = () => probe({ nonce: CONFIGURATION_NONCE + randomBytes(14).toString('hex') })
  const probed = await Promise.all(Array.from({ length: PROBES }, ask))
  return judgeConfiguration(
    config,
    probed.map(({ answer }) => answer?.configuration),
  )
}

export function judgeConfiguration(config: Config, found: readonly ProbeAnswer['configuration'][]): Finding {
  const replicas = found.filter((each) => each !== undefined)
  if (replicas.length === 0) return skipped('the running broker does not say it')
  const signer = createSigner(config.secretKeys.value, 'doctor-probe') // as in wiring.ts
  const different = Object.entries(sharedConfiguration(config)).filter(([name, value]) => {
    const tags = configurationTags(name, value, signer)
    // another version may not have the variable
    return replicas.some((replica) => replica[name] !== undefined && !tags.includes(replica[name]))
  })
  if (different.length === 0) return ok('the running broker has this configuration and version')
  return warn(
    `the running broker, or one of its replicas, has another ${different.map(([name]) => name).join(', ')} than the doctor`,
    'Restart each replica with this configuration, or run the doctor in the environment of the broker.',
  )
}
