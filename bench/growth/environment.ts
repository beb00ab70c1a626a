import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Redis } from 'ioredis'
import { connect, load, type PreparedRequest, retryUnexpected } from '../load.ts'
import { type Cost, measure } from '../measure.ts'
import { type CpuPlacement, end, type ServerProcess, type Stub, startRedis, startStub } from '../processes.ts'
import { startGatehouse } from '../targets.ts'

/** Gatehouse on an empty Redis, with its own upstream stub. */
export interface Environment {
  readonly origins: readonly [string, ...string[]]
  readonly servers: readonly ServerProcess[]
  readonly redis: Redis
  readonly stub: Stub
  /** Warms up, then measures. */
  cost(prepared: readonly PreparedRequest[], load: Load): Promise<Cost>
}

export interface Load {
  readonly connections: number
  readonly concurrency?: number
  readonly allowShed?: boolean
  readonly seconds: number
}

export interface EnvironmentOptions {
  /** The environment of upstream-stub.ts. */
  readonly stubEnv?: Record<string, string>
  readonly processes?: number
  readonly place?: CpuPlacement
}

/** V8 compiles for several seconds, as in `bench/main.ts`. */
const WARM_UP_SECONDS = 4

/** Starts the environment, runs `work` in it, and stops it. */
export async function withEnvironment<Result>(
  { stubEnv = {}, processes = 1, place = 'server' }: EnvironmentOptions,
  work: (environment: Environment) => Promise<Result>,
): Promise<Result> {
  const logs = mkdtempSync(join(tmpdir(), 'gatehouse-growth-'))
  const redis = await startRedis()
  const stub = await startStub({ env: stubEnv, logFile: join(logs, 'stub.log') })
  const env = { AUTHN_BASE_URL: stub.url, PAM_BASE_URL: stub.url, REDIS_URL: redis.url }
  const servers: ServerProcess[] = []
  for (let n = 0; n < processes; n++) {
    servers.push(await startGatehouse({ env, place, logFile: join(logs, 'broker.log') }))
  }
  const [first, ...more] = servers.map(({ port }) => `http://127.0.0.1:${port}`)
  if (first === undefined) throw new Error('at least one broker process is needed')
  const origins: Environment['origins'] = [first, ...more]

  const cost: Environment['cost'] = async (prepared, { connections: count, seconds, ...rest }) => {
    const connections = await connect(origins, count)
    const requests = Number.POSITIVE_INFINITY
    const work = async () => {
      await load({ connections, prepared, requests, seconds: WARM_UP_SECONDS, ...rest })
      return measure({ servers, stub, connections, prepared, requests, seconds, ...rest })
    }
    const measured = await retryUnexpected(`${count} connections`, work)
    await connections.close()
    return measured
  }

  const result = await work({ origins, servers, redis: redis.client, stub, cost })
  redis.client.disconnect()
  await Promise.all([...servers.map(({ child }) => child), stub.child, redis.child].map(end))
  rmSync(logs, { recursive: true }) // kept after a failure: the error names the log to read
  return result
}
