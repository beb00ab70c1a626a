import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { portsIn, spawnNode } from '../support/broker-process.ts'
import { freePort, TEST_KEY } from '../support/gatehouse.ts'
import { type RedisServer, startRedis } from '../support/redis-server.ts'
import { type SandboxUpstream, startSandboxUpstream } from '../support/sandbox-upstream.ts'
import { until } from '../support/until.ts'
import { withLoadUsers } from './fleet.ts'
import { begin, expectToGoOn, expectToHold, UNDER_WAY_ENV, type UnderWay } from './under-way.ts'

/**
 * `npm run upgrade`: the build of the last version, whose commit `CHANGELOG.md` names, and this one
 * on one Redis.
 */

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-last-'))
const [LAST, THIS] = [join(folder, 'dist/main.js'), resolve('dist/main.js')]
const started: ReturnType<typeof spawnNode>[] = []
let upstream: SandboxUpstream
let redis: RedisServer
let publicUrl: string
beforeAll(async () => {
  const commit = /^## \S+ \(commit ([0-9a-f]{40})\)$/m.exec(readFileSync('CHANGELOG.md', 'utf8'))?.[1]
  const script = `git archive ${commit} | tar -x -C ${folder}; cd ${folder}; npm ci --ignore-scripts; npm run build`
  execFileSync('bash', ['-e', '-o', 'pipefail', '-c', script], { stdio: 'pipe' })
  upstream = await startSandboxUpstream({ sandboxConfig: withLoadUsers })
})
beforeEach(async () => {
  redis = await startRedis()
  publicUrl = `http://localhost:${await freePort()}`
})
afterEach(async () => {
  for (const { child } of started.splice(0)) child.kill('SIGKILL')
  await redis.stop()
})
afterAll(async () => {
  await upstream?.close()
  rmSync(folder, { recursive: true })
})

test('sessions, transactions under way and limits survive the roll forward, and the roll back', async () => {
  const before = await start(LAST)
  const begun = await begin(before.url)
  await writeRecords(begun)
  await before.stop()

  const rolledForward = await start(THIS)
  await expectToGoOn(begun, rolledForward.url)
  const begunInThis = await begin(rolledForward.url)
  await rolledForward.stop()

  const rolledBack = await start(LAST)
  await expectToHold(begun, rolledBack.url)
  await expectToGoOn(begunInThis, rolledBack.url)
})

test('with replicas of both versions, what begins at one goes on at the other', async () => {
  const [last, current] = [await start(LAST), await start(THIS)]
  for (const [from, to] of [[last.url, current.url] as const, [current.url, last.url] as const]) {
    const begun = await begin(from)
    await expectToGoOn(begun, to)
    await expectToHold(begun, from)
  }
})

async function start(main: string) {
  const broker = spawnNode(main, {
    PUBLIC_URL: publicUrl,
    PORT: '0',
    OPS_PORT: '0',
    HOST: '127.0.0.1',
    ...upstream.signInEnv,
    ...UNDER_WAY_ENV,
    REDIS_URL: redis.url,
    SECRET_KEYS: TEST_KEY,
  })
  started.push(broker)
  const ports = await until(() => portsIn(broker.output.out), { what: `a listening broker of ${main}` })
  return {
    url: `http://localhost:${ports?.public}`,
    async stop() {
      broker.child.kill('SIGTERM')
      expect(await broker.exited).toBe(0)
    },
  }
}

/**
 * The fixture of test/journeys/stored-records.test.ts, without the locks and results of steps,
 * which live for seconds.
 */
async function writeRecords(underWay: UnderWay): Promise<void> {
  const client = redis.client()
  const records: Record<string, unknown> = {}
  for (const key of (await client.keys('*')).filter((one) => !one.includes(':lock:')).sort())
    records[key] = (await client.type(key)) === 'hash' ? await client.hgetall(key) : await client.get(key)
  const issuedTokens = upstream.sandbox.tokensIssued()
  const fixture = { madeAtMs: Date.now(), issuedTokens, underWay, records }
  writeFileSync('build/stored-records.json', `${JSON.stringify(fixture, null, 2)}\n`)
}
