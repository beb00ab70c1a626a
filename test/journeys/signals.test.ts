import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type BrokerDirectory, makeBrokerDirectory } from '../support/broker-process.ts'
import { TEST_KEY } from '../support/gatehouse.ts'
import { until } from '../support/until.ts'

let home: BrokerDirectory
beforeAll(async () => {
  home = await makeBrokerDirectory()
})
afterAll(() => home.remove())

test('SIGUSR1 opens no inspector: the broker ignores it and logs that', async () => {
  const broker = await home.start({
    PUBLIC_URL: 'http://localhost:8080',
    AUTHN_BASE_URL: 'http://127.0.0.1:9', // nothing here is sent there
    AUTHN_API_TOKEN: 'plainly-fake-ssws-token',
    REDIS_URL: 'memory:',
    SECRET_KEYS: TEST_KEY,
  })
  const { child, output } = broker
  child.kill('SIGUSR1')
  await until(() => /"event":"signal_ignored"/.test(output.out) || output.err !== '')
  child.kill('SIGUSR1') // an opened inspector would have printed a line by now
  await until(() => (output.out.match(/"event":"signal_ignored"/g) ?? []).length === 2 || output.err !== '')
  expect((await fetch(`${broker.opsUrl}/livez`)).status).toBe(200)
  child.kill('SIGTERM')
  expect(await broker.exited).toBe(0)
  expect(output.err).toBe('') // Node prints "Debugger listening on ws://" here
  expect(output.out).toMatch(/"level":"warn",.*"event":"signal_ignored","signal":"SIGUSR1"/)
})
