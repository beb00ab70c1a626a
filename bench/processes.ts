import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { createServer } from 'node:net'
import { availableParallelism } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'

/** The processes of a run. Each is pinned to its cores if `taskset` exists, and is killed at the end of the run. */

export interface ServerProcess {
  readonly child: ChildProcess
  readonly port: number
  usage(): Promise<Usage>
}

export interface Usage {
  /** CPU time so far in microseconds, user and system. */
  readonly cpuUs: number
  readonly rssBytes: number
  readonly heapBytes: number
}

/** `server`: the server under test, alone on the first core; `rest`: the other cores. */
export type CpuPlacement = 'server' | 'rest' | 'anywhere'

/** The upstream stub, which counts its calls. */
export interface Stub extends ServerProcess {
  readonly url: string
  calls(): Promise<number>
}

const children = new Set<ChildProcess>()
export const cores = availableParallelism()
export const isPinned = cores > 1 && spawnSync('taskset', ['--version']).status === 0

export interface NodeOptions {
  readonly env: Record<string, string>
  readonly place: CpuPlacement
  /** The file for stdout and stderr. */
  readonly logFile: string
}

/** Starts a Node process that sends its port over the IPC channel. */
export async function startNode(script: string, options: NodeOptions): Promise<ServerProcess> {
  const child = spawnNode(script, options)
  const message: unknown = await Promise.race([
    once(child, 'message').then(([first]) => first),
    once(child, 'exit').then(() => {
      throw new Error(`${script} exited before it listened; see ${options.logFile}`)
    }),
  ])
  const port = field(message, 'port')
  if (typeof port !== 'number') throw new Error(`${script} sent no port`)
  return { child, port, usage: () => usageOf(child) }
}

export async function startStub(options: Omit<NodeOptions, 'place'>): Promise<Stub> {
  const script = fileURLToPath(new URL('./upstream-stub.js', import.meta.url))
  const running = await startNode(script, { ...options, place: 'rest' })
  return {
    ...running,
    url: `http://127.0.0.1:${running.port}`,
    calls: async () => numberIn(await query(running.child, 'calls'), 'calls'),
  }
}

/** Starts the broker's entry point on a free port, and waits until it is ready. */
export async function startBroker(script: string, options: NodeOptions): Promise<ServerProcess> {
  const [port, opsPort] = [await freePort(), await freePort()]
  const env = { ...options.env, PORT: String(port), OPS_PORT: String(opsPort) }
  const child = spawnNode(script, { ...options, env })
  for (let attempt = 0; ; attempt++) {
    const answer = await fetch(`http://127.0.0.1:${opsPort}/readyz`).catch(() => undefined)
    if (answer?.ok === true) return { child, port, usage: () => usageOf(child) }
    if (child.exitCode !== null || attempt > 400)
      throw new Error(`the broker is not ready; see ${options.logFile}`)
    await pause(50)
  }
}

function spawnNode(script: string, { env, place, logFile }: NodeOptions): ChildProcess {
  const log = openSync(logFile, 'a')
  const [command, ...args] = pinned(place, [
    process.execPath,
    '--import',
    new URL('../../bench/usage-hook.mjs', import.meta.url).href,
    script,
  ])
  const child = spawn(command, args, {
    env: { PATH: process.env.PATH, NODE_ENV: 'production', ...env },
    stdio: ['ignore', log, log, 'ipc'],
  })
  closeSync(log)
  children.add(child)
  return child
}

/** A redis-server without persistence. */
export async function startRedis(): Promise<{ url: string; client: Redis; child: ChildProcess }> {
  const port = await freePort()
  const [command, ...args] = pinned('rest', [
    'redis-server',
    ...['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'],
  ])
  const child = spawn(command, args, { stdio: 'ignore' })
  children.add(child)
  const url = `redis://127.0.0.1:${port}`
  const client = new Redis(url, { maxRetriesPerRequest: null, retryStrategy: () => 50 })
  client.on('error', () => {}) // not listening yet
  await client.ping()
  return { url, client, child }
}

export async function killAll(): Promise<void> {
  await Promise.all([...children].map(end))
}

export async function end(child: ChildProcess): Promise<void> {
  children.delete(child)
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

function pinned(place: CpuPlacement, command: readonly [string, ...string[]]): [string, ...string[]] {
  if (!isPinned || place === 'anywhere') return [...command]
  return ['taskset', '-c', place === 'server' ? '0' : `1-${cores - 1}`, ...command]
}

/** Keeps this process, which generates the load, off the server's core. */
export function pinSelf(): void {
  if (isPinned) spawnSync('taskset', ['-a', '-p', '-c', `1-${cores - 1}`, String(process.pid)])
}

/** Writes a CPU profile of the process during `work`. */
export async function profiled<Result>(child: ChildProcess, file: string, work: () => Promise<Result>) {
  child.send('profile')
  await once(child, 'message')
  const result = await work()
  child.send({ profileTo: file })
  await once(child, 'message')
  return result
}

async function usageOf(child: ChildProcess): Promise<Usage> {
  const usage = field(await query(child, 'usage'), 'usage')
  const cpu = field(usage, 'cpu')
  return {
    cpuUs: numberIn(cpu, 'user') + numberIn(cpu, 'system'),
    rssBytes: numberIn(usage, 'rss'),
    heapBytes: numberIn(usage, 'heap'),
  }
}

async function query(child: ChildProcess, question: string): Promise<unknown> {
  child.send(question)
  const [message]: unknown[] = await once(child, 'message')
  return message
}

function numberIn(value: unknown, name: string): number {
  const number = field(value, name)
  if (typeof number !== 'number') throw new Error(`a process did not send its ${name}`)
  return number
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null
    ? Object.getOwnPropertyDescriptor(value, name)?.value
    : undefined
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address !== null ? address.port : 0
}
