import { until } from './until.ts'

/** After a 429 from Okta, the broker holds the same caller until the reset: repeats the call until it succeeds. */
export async function waitForRateLimitReset(ask: () => Promise<{ readonly status: number }>): Promise<void> {
  await until(async () => (await ask()).status === 200, { everyMs: 100, what: 'the rate limit’s reset' })
}
