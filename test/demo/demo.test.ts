import { PassThrough } from 'node:stream'
import { expect, test } from '@jest/globals'
import { startDemo } from '../../src/demo/demo.ts'
import { defaultConfigPath } from '../../src/sandbox/sandbox-config.ts'
import { freePort } from '../support/gatehouse.ts'
import { until } from '../support/until.ts'

test('a reset starts the broker again; other sites cannot cause it', async () => {
  const logStream = new PassThrough().resume()
  const { stop, ...demo } = await startDemo({
    port: await freePort(),
    sandboxConfigPath: defaultConfigPath,
    logStream,
  })
  try {
    const reset = async (headers: Record<string, string>) =>
      (await fetch(`${demo.url}/demo/reset`, { method: 'POST', headers })).status
    expect(await reset({ origin: 'https://other.example' })).toBe(403)
    expect(await reset({})).toBe(204)
    await until(async () => (await fetch(`${demo.opsUrl}/readyz`)).status === 200)
  } finally {
    await stop()
  }
})
