import { until } from './until.ts'

/** A rate limit of the org holds back the caller that met it until its reset: asks again as that caller until then. */
export async function waitForRateLimitReset(ask: () => Promise<{ readonly status: number }>): Promise<void> {
  await until(async () => (await ask()).status === 200, { everyMs: 100, what: 'the end of the limit' })
}
