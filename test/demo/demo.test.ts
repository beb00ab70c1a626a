import { PassThrough } from 'node:stream'
import { expect, test } from '@jest/globals'
import { startDemo } from '../../src/demo/demo.ts'
import { defaultConfigPath } from '../../src/sandbox/sandbox-config.ts'
import { freePort } from '../support/gatehouse.ts'
import { until } from '../support/until.ts'

test('the metrics name the pipeline of the sandbox, also after a reset, which other sites cannot cause', async () => {
  const logStream = new PassThrough().resume()
  const { stop, ...demo } = await startDemo({
    port: await freePort(),
    sandboxConfigPath: defaultConfigPath,
    logStream,
  })
  const namePipeline = async () =>
    (await (await fetch(`${demo.opsUrl}/metrics`)).text()).includes(
      'gatehouse_authn_pipeline_info{pipeline="v1"} 1',
    )
  try {
    await until(namePipeline)
    const reset = async (headers: Record<string, string>) =>
      (await fetch(`${demo.url}/demo/reset`, { method: 'POST', headers })).status
    expect(await reset({ origin: 'https://other.example' })).toBe(403)
    expect(await reset({})).toBe(204)
    await until(namePipeline)
  } finally {
    await stop()
  }
})
