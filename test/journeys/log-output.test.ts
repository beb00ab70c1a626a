import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { expect, test } from '@jest/globals'
import { freePort, TEST_KEY } from '../support/gatehouse.ts'
import { until } from '../support/until.ts'

test('on a full disk, lines are lost and counted, said once on stderr, and nothing else happens', async () => {
  const [port, opsPort] = [String(await freePort()), String(await freePort())]
  const broker = spawn(
    'sh',
    ['-c', 'exec "$0" "$1" > /dev/full', process.execPath, resolve('build/main.js')],
    {
      env: {
        PATH: process.env.PATH,
        PORT: port,
        OPS_PORT: opsPort,
        HOST: '127.0.0.1',
        PUBLIC_URL: 'http://localhost:8080',
        AUTHN_BASE_URL: 'http://127.0.0.1:9', // nothing here is sent there
        AUTHN_API_TOKEN: 'plainly-fake-ssws-token',
        REDIS_URL: 'memory:',
        SECRET_KEYS: TEST_KEY,
      },
    },
  )
  let stderr = ''
  broker.stderr.on('data', (bytes: Buffer) => {
    stderr += bytes.toString()
  })
  const ops = async (path: string) => (await fetch(`http://127.0.0.1:${opsPort}${path}`)).text()
  const lost = async () => Number(/^gatehouse_log_lines_lost_total (\d+)$/m.exec(await ops('/metrics'))?.[1])
  try {
    await until(() => broker.exitCode !== null || ops('/livez').then(Boolean), {
      what: 'a broker that answers',
    })
    const before = await lost()
    for (let n = 0; n < 3; n++) await fetch(`http://127.0.0.1:${port}/unlisted`)
    await until(async () => (await lost()) === before + 3)
    expect(stderr).toBe(
      'gatehouse: standard output does not take the log (ENOSPC). Lines are lost: gatehouse_log_lines_lost_total\n',
    )
    broker.kill('SIGTERM')
    expect((await once(broker, 'exit'))[0]).toBe(0)
  } finally {
    broker.kill('SIGKILL')
  }
})
