import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { openBoundVisitor } from '../support/bound-visitor.ts'
import { portsIn, spawnNode } from '../support/broker-process.ts'
import { freePort, TEST_KEY } from '../support/gatehouse.ts'
import { AMELIA, PASSWORD } from '../support/harness.ts'
import { type RedisServer, startRedis } from '../support/redis-server.ts'
import { type SandboxUpstream, startSandboxUpstream } from '../support/sandbox-upstream.ts'
import { until } from '../support/until.ts'
import { withLoadUsers } from './fleet.ts'
import {
  begin,
  expectToGoOn,
  expectToHold,
  loginOfSession,
  UNDER_WAY_ENV,
  type UnderWay,
} from './under-way.ts'

/**
 * `npm run upgrade`: the build of the last version, whose commit `CHANGELOG.md` names, and this one
 * on one Redis.
 */

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-last-'))
const [LAST, THIS] = [join(folder, 'dist/main.js'), resolve('dist/main.js')]
const HTTPS_ORIGIN = 'https://portal.example.test'
const started: ReturnType<typeof spawnNode>[] = []
let upstream: SandboxUpstream
let redis: RedisServer
beforeAll(async () => {
  const commit = /^## \S+ \(.*commit ([0-9a-f]{40})\)$/m.exec(readFileSync('CHANGELOG.md', 'utf8'))?.[1]
  const script = `git archive ${commit} | tar -x -C ${folder}; cd ${folder}; npm ci --ignore-scripts; npm run build`
  execFileSync('bash', ['-e', '-o', 'pipefail', '-c', script], { stdio: 'pipe' })
  upstream = await startSandboxUpstream({ sandboxConfig: withLoadUsers })
})
beforeEach(async () => {
  redis = await startRedis()
})
afterEach(async () => {
  for (const { child } of started.splice(0)) child.kill('SIGKILL')
  await redis.stop()
})
afterAll(async () => {
  await upstream?.close()
  rmSync(folder, { recursive: true })
})

describe.each(['http', 'https'])('on an %s origin', (scheme) => {
  let env: Env
  beforeEach(async () => {
    env = { PUBLIC_URL: scheme === 'https' ? HTTPS_ORIGIN : `http://localhost:${await freePort()}` }
  })

  test('sessions, transactions under way and limits survive the roll forward, and the roll back', async () => {
    const before = await start(LAST, env)
    const begun = await begin(before.url)
    if (scheme === 'http') await writeRecords(begun)
    await before.stop()

    const rolledForward = await start(THIS, env)
    await expectToGoOn(begun, rolledForward.url)
    const begunInThis = await begin(rolledForward.url)
    await rolledForward.stop()

    const rolledBack = await start(LAST, env)
    await expectToHold(begun, rolledBack.url)
    await expectToGoOn(begunInThis, rolledBack.url)
  })

  test('with replicas of both versions, what begins at one goes on at the other', async () => {
    const [last, current] = [await start(LAST, env), await start(THIS, env)]
    for (const [from, to] of [[last.url, current.url] as const, [current.url, last.url] as const]) {
      const begun = await begin(from)
      await expectToGoOn(begun, to)
      await expectToHold(begun, from)
    }
  })
})

describe('DEVICE_BOUND_SESSIONS=on', () => {
  const off = { PUBLIC_URL: HTTPS_ORIGIN }
  const on = { ...off, DEVICE_BOUND_SESSIONS: 'on' }

  test('switched on, the upgrade signs nobody out, nor does a replica with off beside it', async () => {
    const last = await start(LAST, off)
    const begun = await begin(last.url)
    await last.stop()

    const [switched, other] = [await start(THIS, on), await start(THIS, off)]
    await expectToGoOn(begun, switched.url)
    await expectToHold(begun, other.url)
    const begunInThis = await begin(switched.url)
    await expectToGoOn(begunInThis, other.url)
    await expectToHold(begunInThis, switched.url)
  })

  test('a roll back signs everybody out who was there meanwhile', async () => {
    const [last, current] = [await start(LAST, on), await start(THIS, on)]
    const opened = { before: await begin(last.url), meanwhile: await begin(current.url) }
    for (const { signedIn } of Object.values(opened)) {
      expect(await loginOfSession(signedIn, current.url)).toBe(signedIn.login)
      expect(await loginOfSession(signedIn, last.url)).toBeUndefined()
    }
  })

  test('the last version sees no session in a bound one, and does not unbind it', async () => {
    const [last, current] = [await start(LAST, on), await start(THIS, on)]
    const visitor = openBoundVisitor(HTTPS_ORIGIN)
    const session = async (at: string) => {
      const { status, json } = await visitor.ask(at, 'GET', '/api/v1/sessions/me')
      return [status, Object(json).deviceBound]
    }
    const credentials = { username: AMELIA, password: PASSWORD }
    expect((await visitor.bind(current.url, credentials)).status).toBe(200)
    expect(await session(current.url)).toEqual([200, true])
    // under the names that the last version reads
    for (const [name, value] of [...visitor.cookies])
      visitor.cookies.set(name.replace('__Host-Http-', '__Host-'), value)
    expect(await session(last.url)).toEqual([404, undefined])
    // its list of the user's sessions
    const elsewhere = openBoundVisitor(HTTPS_ORIGIN)
    await elsewhere.bind(last.url, credentials)
    const { json } = await elsewhere.ask(last.url, 'GET', '/api/v1/sessions')
    expect(Object(json).sessions).toHaveLength(1)
    expect(await session(current.url)).toEqual([200, true])
    visitor.cookies.delete('__Host-gatehouse-bound')
    expect(await session(current.url)).toEqual([404, undefined])
  })
})

type Env = Readonly<Record<string, string>>

async function start(main: string, env: Env) {
  const broker = spawnNode(main, {
    PORT: '0',
    OPS_PORT: '0',
    HOST: '127.0.0.1',
    ...upstream.signInEnv,
    ...UNDER_WAY_ENV,
    REDIS_URL: redis.url,
    SECRET_KEYS: TEST_KEY,
    ...env,
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
  mkdirSync('build', { recursive: true })
  writeFileSync('build/stored-records.json', `${JSON.stringify(fixture, null, 2)}\n`)
}
