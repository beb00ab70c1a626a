import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { quantile } from './measure.ts'
import { publish, table, verdict } from './output.ts'
import { end, runBenchmark, type ServerProcess } from './processes.ts'
import { startRedis } from './redis.ts'
import { PACKAGES, startGatehouse, type Target } from './targets.ts'

/**
 * `npm run bench:start`: the time until the broker is ready, and its memory when idle, without and
 * with idle connections.
 */

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    connections: { type: 'string', default: '10000' },
    dry: { type: 'boolean', default: false },
  },
})
const rounds = Number(options.rounds)
const connections = Number(options.connections)
/** After the start, or the last request. */
const IDLE_MS = 3000

await runBenchmark(async ({ env, logs }) => {
  const redis = await startRedis()
  const configFile = join(logs, 'config.json')
  writeFileSync(configFile, JSON.stringify({ http: { maxConnections: connections + 100 } }))
  const start = async (target: Target['start']) => {
    const startedAt = performance.now()
    const server = await target({
      env: { ...env, REDIS_URL: redis.url, CONFIG_FILE: configFile },
      logFile: join(logs, 'server.log'),
    })
    return { server, ms: performance.now() - startedAt }
  }
  const packagesMs: number[] = []
  const readyMs: number[] = []
  const idleMb: number[] = []
  let connectedMb = 0
  for (let round = 1; round <= rounds; round++) {
    packagesMs.push((await start(PACKAGES)).ms)
    const { server, ms } = await start(startGatehouse)
    readyMs.push(ms)
    idleMb.push(await idleMemory(server))
    if (round === rounds) {
      await openConnections(server.port)
      connectedMb = await idleMemory(server)
    }
    await end(server.child)
  }
  const packages = Math.min(...packagesMs)
  const rows = [
    row('start until `/readyz` responds with 200', Math.min(...readyMs), 'ms', 1.5 * packages),
    row('memory when idle', quantile(idleMb, 0.5), 'MB', 90),
    row(`memory with ${connections.toLocaleString('en')} idle connections`, connectedMb, 'MB', 250),
  ]
  const how = `the fastest of ${rounds} starts, which may take 1.5 times what loading the production packages alone takes: ${packages.toFixed(0)} ms`
  publish('start', how, [table(['', '', 'at most', ''], rows)], options.dry)
  return true
})

function row(name: string, value: number, unit: string, most: number): string[] {
  return [name, `${value.toFixed(0)} ${unit}`, `${most.toFixed(0)} ${unit}`, verdict(value <= most)]
}

async function idleMemory(server: ServerProcess): Promise<number> {
  await pause(IDLE_MS)
  return server.memoryMb()
}

/** Sends a request on each connection, and leaves it open. */
async function openConnections(port: number): Promise<void> {
  for (let n = 0; n < connections; n++) {
    const socket = connect(port, '127.0.0.1')
    socket.write('GET /api/v1/sessions/me HTTP/1.1\r\nHost: portal.example.test\r\n\r\n')
    await once(socket, 'data')
  }
}
