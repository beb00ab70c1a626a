import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { freePort, TEST_KEY } from '../support/gatehouse.ts'
import { until } from '../support/until.ts'

/** A standard output that takes no lines: the broker lives, says so once on stderr, and counts what it loses. */

const children: ChildProcess[] = []
let pipe: string
beforeEach(async () => {
  pipe = join(await mkdtemp(join(tmpdir(), 'gatehouse-log-')), 'pipe')
  execFileSync('mkfifo', [pipe])
})
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  await rm(join(pipe, '..'), { recursive: true })
})

async function startBroker(stdout: string) {
  const [port, opsPort] = [String(await freePort()), String(await freePort())]
  const command = ['-c', 'exec "$0" "$1" > "$2"', process.execPath, resolve('build/main.js'), stdout]
  const broker = spawn('sh', command, {
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
  })
  children.push(broker)
  let stderr = ''
  broker.stderr.on('data', (bytes: Buffer) => {
    stderr += bytes.toString()
  })
  const ops = async (path: string) => (await fetch(`http://127.0.0.1:${opsPort}${path}`)).text()
  const isUp = () => broker.exitCode !== null || ops('/livez').then(Boolean)
  await until(isUp, { what: 'a broker that answers' })
  return {
    stderr: () => stderr,
    request: async () => (await fetch(`http://127.0.0.1:${port}/unlisted`)).text(),
    lost: async () => Number(/^gatehouse_log_lines_lost_total (\d+)$/m.exec(await ops('/metrics'))?.[1]),
    async stop() {
      broker.kill('SIGTERM')
      return (await once(broker, 'exit'))[0]
    },
  }
}

async function expectLostLines(broker: Awaited<ReturnType<typeof startBroker>>, code: string) {
  const before = await broker.lost()
  for (let n = 0; n < 3; n++) await broker.request()
  await until(async () => (await broker.lost()) === before + 3)
  expect(broker.stderr()).toBe(
    `gatehouse: standard output does not take the log (${code}). Lines are lost: gatehouse_log_lines_lost_total\n`,
  )
}

test('on a full disk, lines are lost and counted, and nothing else happens', async () => {
  const broker = await startBroker('/dev/full')
  await expectLostLines(broker, 'ENOSPC')
  expect(await broker.stop()).toBe(0)
})
