import { join } from 'node:path'
import type { Client } from 'undici'
import { checkContract } from './contract.ts'
import { connect, load, type PreparedRequest } from './load.ts'
import { type Cost, meanOf, measure } from './measure.ts'
import { isGet, ONCE, type PathName, withPath } from './prepare-requests.ts'
import { end, type ServerProcess, type Setup } from './processes.ts'
import type { RedisServers } from './redis.ts'
import type { Target } from './targets.ts'

export interface RoundsOptions extends Setup {
  readonly targets: readonly (Target & { readonly redis: RedisServers })[]
  readonly paths: readonly PathName[]
  readonly rounds: number
  /** Of each measurement. */
  readonly seconds: number
}

/** The costs of the target on the path, in the order of the rounds. */
export type Costs = (path: PathName, target: string) => readonly Cost[]

const CONNECTIONS = 64
const VISITORS = 500
/**
 * On paths whose requests can be sent only once: the number of requests, instead of a second of
 * load.
 */
const ONCE_PER_SECOND = 500

/** V8 compiles for several seconds, longer for more code; a production server is warm. */
const COLD_SECONDS = 4
/** Later, relative to the measurement. */
const WARM_UP_SHARE = 1 / 3
/**
 * The servers take turns after this time, because the speed of a machine changes within seconds.
 */
const SLICE_SECONDS = 0.1

interface Running {
  readonly target: Target & { readonly redis: RedisServers }
  readonly server: ServerProcess
  readonly origin: string
  readonly connections: readonly Client[]
  /** Requests of signed-in users, for the paths that only need a session. */
  readonly signedIn: readonly PreparedRequest[]
}

/**
 * Measures all targets on all paths. They run from start to end and take turns in slices of each
 * round, in the opposite order in every other slice, so that a machine that is busy for a while
 * slows all of them.
 */
export async function runRounds(options: RoundsOptions): Promise<Costs> {
  const costs = new Map<string, Cost[]>()
  const started = await startAll(options)
  for (let round = 1; round <= options.rounds; round++) {
    for (const path of options.paths) {
      const those = started.filter(({ target }) => target.paths.includes(path))
      const measured = those.map((running) => ({ running, slices: [] as Cost[] }))
      for (let slice = 0; slice < slicesOf(options); slice++) {
        const isFirst = round === 1 && slice === 0
        for (const { running, slices } of (round + slice) % 2 === 0 ? measured.toReversed() : measured) {
          if (isFirst) await check(running, path)
          slices.push(await costOf(running, path, isFirst, options))
        }
      }
      for (const { running, slices } of measured) {
        const cost = meanOf(slices)
        const name = `${path} ${running.target.name}`
        costs.set(name, [...(costs.get(name) ?? []), cost])
        process.stderr.write(`round ${round} ${name}: ${cost.cpuUs.toFixed(1)} µs\n`)
      }
    }
  }
  await Promise.all(started.map(stop))
  return (path, target) => costs.get(`${path} ${target}`) ?? []
}

const slicesOf = ({ seconds }: RoundsOptions) => Math.ceil(seconds / SLICE_SECONDS)

async function startAll({ targets, env, logs }: RoundsOptions): Promise<Running[]> {
  const started: Running[] = []
  for (const target of targets) {
    const options = {
      env: { ...env, REDIS_URL: target.redis.url },
      logFile: join(logs, `${target.name}.log`),
    }
    const server = await target.start(options)
    const origin = `http://127.0.0.1:${server.port}`
    const connections = await connect(origin, CONNECTIONS)
    const signedIn = await target.prepare(origin, 'S', VISITORS)
    started.push({ target, server, origin, connections, signedIn })
  }
  return started
}

async function stop({ server, connections }: Running): Promise<void> {
  await Promise.all(connections.map((client) => client.destroy()))
  await end(server.child)
}

async function check(running: Running, path: PathName): Promise<void> {
  const [client] = running.connections
  const [request] = await requestsFor(running, path, 1)
  if (client === undefined || request === undefined) throw new Error(`no request was prepared for ${path}`)
  await checkContract(client, path, request)
}

async function costOf(
  running: Running,
  path: PathName,
  isFirst: boolean,
  options: RoundsOptions,
): Promise<Cost> {
  const { server, connections, target } = running
  const seconds = options.seconds / slicesOf(options)
  const warmUpSeconds = isFirst ? COLD_SECONDS : seconds * WARM_UP_SHARE
  const warmUpCount = Math.ceil(warmUpSeconds * ONCE_PER_SECOND)
  const prepared = await requestsFor(running, path, warmUpCount + Math.ceil(seconds * ONCE_PER_SECOND))
  const isOnce = ONCE.has(path)
  const workOf = (requests: readonly PreparedRequest[], forSeconds: number) => ({
    connections,
    prepared: requests,
    requests: isOnce ? requests.length : Number.POSITIVE_INFINITY,
    seconds: isOnce ? Number.POSITIVE_INFINITY : forSeconds,
  })
  await load(workOf(isOnce ? prepared.slice(0, warmUpCount) : prepared, warmUpSeconds))
  const work = workOf(isOnce ? prepared.slice(warmUpCount) : prepared, seconds)
  return measure({ ...work, server, redis: target.redis })
}

function requestsFor(
  { target, origin, signedIn }: Running,
  path: PathName,
  onceCount: number,
): Promise<readonly PreparedRequest[]> {
  if (isGet(path)) return Promise.resolve(withPath(path, signedIn))
  if (ONCE.has(path)) return target.prepare(origin, path, onceCount)
  // their bound cookies live ten minutes only, and they take four requests each
  return target.prepare(origin, path, path === 'B' ? CONNECTIONS : VISITORS)
}
