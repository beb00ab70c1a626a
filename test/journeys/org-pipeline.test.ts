import { afterEach, expect, test } from '@jest/globals'
import { makeBrokerDirectory } from '../support/broker-process.ts'
import { TEST_KEY } from '../support/gatehouse.ts'
import { type StubListener, sendJson, startStubUpstream } from '../support/stub-upstream.ts'
import { until } from '../support/until.ts'

const cleanUps: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

async function startWith(answer: StubListener) {
  const stub = await startStubUpstream(answer)
  cleanUps.push(stub.close)
  const home = await makeBrokerDirectory()
  cleanUps.push(home.remove)
  const broker = await home.start({
    PUBLIC_URL: 'http://localhost:8080',
    AUTHN_BASE_URL: stub.origin,
    AUTHN_API_TOKEN: 'plainly-fake-ssws-token',
    REDIS_URL: 'memory:',
    SECRET_KEYS: TEST_KEY,
  })
  return { stub, ...broker }
}

test('a broker logs the pipeline of its org after the start, and shows it as a metric', async () => {
  const { opsUrl, output, child, exited } = await startWith((_req, res) =>
    sendJson(res, 200, { pipeline: 'idx' }),
  )
  await until(() => /"level":"info",.*"event":"authn_pipeline",.*"name":"idx"/.test(output.out))
  const metrics = await (await fetch(`${opsUrl}/metrics`)).text()
  expect(metrics).toContain('gatehouse_authn_pipeline_info{pipeline="idx"} 1')
  child.kill('SIGTERM')
  expect(await exited).toBe(0)
})

test('an org that does not answer delays neither start nor stop, and the broker is ready', async () => {
  const { stub, opsUrl, child, output, exited } = await startWith(() => {})
  await until(() => stub.requests.length === 1)
  expect((await fetch(`${opsUrl}/readyz`)).status).toBe(200)
  child.kill('SIGTERM')
  expect(await exited).toBe(0)
  expect(output.out).not.toContain('authn_pipeline')
})
