import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Redis } from 'ioredis'
import { type Ask, connect, load, unlessRefused } from '../load.ts'
import { type Cost, measure } from '../measure.ts'
import { end, type Place, type Running, type Stub, startRedis, startStub } from '../processes.ts'
import { startGatehouse } from '../targets.ts'

/** Gatehouse on an empty Redis, with an upstream of its own: what every series begins with. */
export interface Scene {
  readonly origins: readonly [string, ...string[]]
  readonly servers: readonly Running[]
  readonly redis: Redis
  readonly stub: Stub
  /** Warms up, then measures. */
  cost(asks: readonly Ask[], under: Load): Promise<Cost>
}

export interface Load {
  readonly connections: number
  readonly atOnce?: number
  readonly mayTurnAway?: boolean
  readonly seconds: number
}

export interface SceneOptions {
  /** For the upstream's stub, see there. */
  readonly stubEnv?: Record<string, string>
  readonly processes?: number
  readonly place?: Place
}

/** V8 goes on compiling what is used for seconds, as in `bench/main.ts`. */
const WARM_UP_SECONDS = 4

/** Sets the scene, lets the work play in it, and clears it away. */
export async function inScene<Result>(
  { stubEnv = {}, processes = 1, place = 'server' }: SceneOptions,
  work: (scene: Scene) => Promise<Result>,
): Promise<Result> {
  const logs = mkdtempSync(join(tmpdir(), 'gatehouse-growth-'))
  const redis = await startRedis()
  const stub = await startStub({ env: stubEnv, logFile: join(logs, 'stub.log') })
  const env = { AUTHN_BASE_URL: stub.url, PAM_BASE_URL: stub.url, REDIS_URL: redis.url }
  const servers: Running[] = []
  for (let n = 0; n < processes; n++) {
    servers.push(await startGatehouse({ env, place, logFile: join(logs, 'broker.log') }))
  }
  const [first, ...more] = servers.map(({ port }) => `http://127.0.0.1:${port}`)
  if (first === undefined) throw new Error('a scene needs a broker')
  const origins: Scene['origins'] = [first, ...more]

  const cost: Scene['cost'] = async (asks, { connections: count, seconds, ...under }) => {
    const connections = await connect(origins, count)
    const requests = Number.POSITIVE_INFINITY
    const work = async () => {
      await load({ connections, asks, requests, seconds: WARM_UP_SECONDS, ...under })
      return measure({ servers, stub, connections, asks, requests, seconds, ...under })
    }
    const measured = await unlessRefused(`${count} connections`, work)
    await connections.close()
    return measured
  }

  const result = await work({ origins, servers, redis: redis.client, stub, cost })
  redis.client.disconnect()
  await Promise.all([...servers.map(({ child }) => child), stub.child, redis.child].map(end))
  rmSync(logs, { recursive: true }) // after a failure they stay: the error names the one to read
  return result
}
