import { AMELIA, type House, PASSWORD } from './house.ts'
import { until } from './until.ts'

/** The org's rate limit holds for everybody until its reset: who made it hit waits here, for the sake of the next test. */
export async function limitIsOver(house: House): Promise<void> {
  const browser = await house.visit()
  const signIn = () => browser.post('/api/v1/authn', { username: AMELIA, password: PASSWORD })
  await until(async () => (await signIn()).status === 200, { everyMs: 100, what: 'the end of the limit' })
}
