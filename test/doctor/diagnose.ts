import { loadConfig } from '../../src/config/load-config.ts'
import type { CheckResult } from '../../src/doctor/check.ts'
import { type DoctorOptions, runDoctor } from '../../src/doctor/doctor.ts'
import { TEST_KEY } from '../support/gatehouse.ts'
import { deadPort } from '../support/stub-upstream.ts'

/** Long enough for a busy machine. */
export const PATIENT = { checkMs: 60_000, totalMs: 120_000, closeMs: 1000, logMs: 0, slowMs: 100 }

/** As `diagnoseAll`, with `status: detail` by name. */
export async function diagnose(
  env: Readonly<Record<string, string>>,
  options: DoctorOptions = {},
): Promise<Record<string, string>> {
  const results = await diagnoseAll(env, options)
  return Object.fromEntries(results.map(({ name, status, detail }) => [name, `${status}: ${detail}`]))
}

/**
 * Runs the doctor with this environment on top of one in which nothing is reachable. Throws if a
 * result contains a secret or the login.
 */
export async function diagnoseAll(
  env: Readonly<Record<string, string>>,
  options: DoctorOptions = {},
): Promise<CheckResult[]> {
  const nothing = await deadPort()
  const all: Record<string, string> = {
    PUBLIC_URL: `http://localhost:${nothing}`,
    AUTHN_BASE_URL: `http://127.0.0.1:${nothing}`,
    AUTHN_API_TOKEN: 'plainly-fake-ssws-token',
    REDIS_URL: 'memory:',
    SECRET_KEYS: TEST_KEY,
    ...env,
  }
  const config = loadConfig(all)
  const results = await runDoctor(config, { deadlines: PATIENT, ...options })
  const printed = JSON.stringify(results)
  const secrets = [all.AUTHN_API_TOKEN, all.SECRET_KEYS, all.PAM_KEY_ID, all.PAM_KEY_SECRET, all.REDIS_URL]
  for (const secret of [...secrets, options.login, options.password].flatMap(
    (value) => value?.split(',') ?? [],
  ))
    if (secret.length > 7 && printed.includes(secret)) throw new Error('the doctor prints a secret')
  checkFixes(results)
  return results
}

function checkFixes(results: readonly CheckResult[]): void {
  for (const { name, status, fix } of results) {
    const needsFix = status === 'fail' || status === 'warn'
    if (needsFix && fix === null) throw new Error(`${name} has no fix`)
    if (status === 'ok' && fix !== null) throw new Error(`${name} has a fix although it is ok`)
  }
}

/** The results of one group, without its name: `reach`, `token`, … */
export function group(name: string, results: Readonly<Record<string, string>>): Record<string, string> {
  const own = Object.entries(results).filter(([check]) => check.startsWith(`${name}.`))
  return Object.fromEntries(own.map(([check, result]) => [check.slice(name.length + 1), result]))
}
