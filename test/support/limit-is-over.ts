import { AMELIA, type Harness, PASSWORD } from './harness.ts'
import { until } from './until.ts'

/** The org's rate limit holds for everybody until its reset: who made it hit waits here, for the sake of the next test. */
export async function limitIsOver(harness: Harness): Promise<void> {
  const browser = await harness.visit()
  const signIn = () => browser.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
  await until(async () => (await signIn()).status === 200, { everyMs: 100, what: 'the end of the limit' })
}
