import { type ChildProcess, type SpawnOptions, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

/**
 * The processes of a run. Each is pinned to its cores if `taskset` exists, and is killed at the end
 * of the run.
 */

export interface ServerProcess {
  readonly child: ChildProcess
  readonly port: number
  /** CPU time so far in microseconds, user and system. */
  cpuUs(): Promise<number>
  /** The resident set. */
  memoryMb(): Promise<number>
}

/** `server`: the server under test, alone on the first core; `rest`: the other cores. */
type CpuPlacement = 'server' | 'rest'

const children = new Set<ChildProcess>()
export const cores = availableParallelism()
export const isPinned = cores > 1 && spawnSync('taskset', ['--version']).status === 0

export interface Setup {
  readonly stubUrl: string
  /** For the servers under test. */
  readonly env: Record<string, string>
  /** A folder that is kept if the run fails. */
  readonly logs: string
}

/**
 * Runs a benchmark, then ends all processes and this one: with 1 if `work` fails or resolves to
 * false.
 */
export async function runBenchmark(work: (setup: Setup) => Promise<boolean>): Promise<never> {
  // this process generates the load, off the server's core
  if (isPinned) spawnSync('taskset', ['-a', '-p', '-c', `1-${cores - 1}`, String(process.pid)])
  const logs = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'))
  try {
    const script = fileURLToPath(new URL('./upstream-stub.js', import.meta.url))
    const { port } = await startNode(script, { env: {}, place: 'rest', logFile: join(logs, 'stub.log') })
    const stubUrl = `http://127.0.0.1:${port}`
    const env = { AUTHN_BASE_URL: stubUrl, PAM_BASE_URL: stubUrl }
    process.exitCode = (await work({ stubUrl, env, logs })) ? 0 : 1
    rmSync(logs, { recursive: true })
  } finally {
    await Promise.all([...children].map(end))
  }
  process.exit()
}

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
  return serverOf(child, numberIn(message, 'port'))
}

/** Starts the broker's entry point on a free port, and waits until it is ready. */
export async function startBroker(script: string, options: NodeOptions): Promise<ServerProcess> {
  const [port, opsPort] = [await freePort(), await freePort()]
  const env = { ...options.env, PORT: String(port), OPS_PORT: String(opsPort) }
  const child = spawnNode(script, { ...options, env })
  const isReady = () =>
    fetch(`http://127.0.0.1:${opsPort}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    )
  for (const startedAt = performance.now(); !(await isReady()); await pause(POLL_EVERY_MS))
    if (child.exitCode !== null || performance.now() - startedAt > READY_WITHIN_MS)
      throw new Error(`the broker is not ready; see ${options.logFile}`)
  return serverOf(child, port)
}

const POLL_EVERY_MS = 5
const READY_WITHIN_MS = 20_000

function spawnNode(script: string, { env, place, logFile }: NodeOptions): ChildProcess {
  const log = openSync(logFile, 'a')
  const hook = new URL('../../bench/usage-hook.mjs', import.meta.url).href
  const child = startCommand(place, [process.execPath, ...imageFlags(), '--import', hook, script], {
    env: { PATH: process.env.PATH, NODE_ENV: 'production', ...env },
    stdio: ['ignore', log, log, 'ipc'],
  })
  closeSync(log)
  return child
}

/** Every server runs with the Node flags of the image. Node 20 does not have all of them. */
function imageFlags(): string[] {
  // seen from `build/bench/`
  const dockerfile = readFileSync(new URL('../../Dockerfile', import.meta.url), 'utf8')
  const command: string[] = JSON.parse(/^CMD (\[.*\])$/m.exec(dockerfile)?.[1] ?? '')
  return command
    .slice(1, -1)
    .filter((flag) => flag !== '--disable-sigusr1' || process.allowedNodeEnvironmentFlags.has(flag))
}

export function startCommand(
  place: CpuPlacement,
  command: [string, ...string[]],
  options: SpawnOptions,
): ChildProcess {
  const onCores = place === 'server' ? '0' : `1-${cores - 1}`
  const [file, ...args] = isPinned ? (['taskset', '-c', onCores, ...command] as const) : command
  const child = spawn(file, args, options)
  children.add(child)
  return child
}

export async function end(child: ChildProcess): Promise<void> {
  children.delete(child)
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

function serverOf(child: ChildProcess, port: number): ServerProcess {
  return { child, port, cpuUs: () => ask(child, 'cpuUs'), memoryMb: () => ask(child, 'memoryMb') }
}

/** Sends the process a message, and returns the number `name` of its answer. */
export async function ask(
  child: ChildProcess,
  name: string,
  message: string | number = name,
): Promise<number> {
  child.send(message)
  const [answer]: unknown[] = await once(child, 'message')
  return numberIn(answer, name)
}

function numberIn(answer: unknown, name: string): number {
  const { [name]: number } = answer as Record<string, unknown> // from a script of this folder
  if (typeof number !== 'number') throw new Error(`a process did not send its ${name}`)
  return number
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // listening on TCP
  server.close()
  await once(server, 'close')
  return port
}
