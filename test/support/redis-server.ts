import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis, type RedisOptions } from 'ioredis'
import { until } from './until.ts'

export interface RedisServerOptions {
  /** Default: a free one. */
  readonly port?: number
  /** Further arguments of redis-server, such as `['--requirepass', 'secret']`. */
  readonly args?: readonly string[]
  /** Keeps the data over a kill and a restart (an append-only file, synced on every write). */
  readonly persist?: boolean
  /** What a client needs to talk to it when it wants a password or speaks TLS; also used to see that it is up. */
  readonly access?: RedisAccess
}

export interface RedisServer {
  readonly url: string
  readonly port: number
  readonly pid: number
  /** What the server wrote to its log so far. */
  log(): string
  /** Ends it politely and removes its directory. */
  stop(): Promise<void>
  /** SIGKILL, as a crash would. */
  kill(): Promise<void>
  /** SIGSTOP: it keeps its connections and answers nothing. */
  pause(): void
  resume(): void
  /** Starts it again on the same port and directory, after a kill or a running one anew. */
  restart(): Promise<void>
  /** A new plain client, closed with the server at the latest. */
  client(): Redis
}

export type RedisAccess = Pick<
  RedisOptions,
  'username' | 'password' | 'tls' | 'commandTimeout' | 'retryStrategy'
>

/** A redis-server of this test's own, on a free port of the loopback interface, in a directory of its own. */
export async function startRedis(options: RedisServerOptions = {}): Promise<RedisServer> {
  // Somebody else may take a free port between our look and the start: then another one.
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOn(options.port ?? (await freePort()), options)
    } catch (error) {
      if (options.port !== undefined || attempt === 5 || !isPortTaken(error)) throw error
    }
  }
}

async function startOn(
  port: number,
  { args = [], persist = false, access = {} }: RedisServerOptions,
): Promise<RedisServer> {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-redis-'))
  const clients = new Set<Redis>()
  const command = [
    ...['--port', String(port), '--bind', '127.0.0.1', '--dir', directory, '--daemonize', 'no'],
    ...['--save', '', '--appendonly', persist ? 'yes' : 'no', '--appendfsync', 'always'],
    ...args,
  ]
  let running = await launch()

  async function launch(): Promise<Running> {
    const next = run('redis-server', command, directory)
    try {
      await untilAnswering(next, { ...access, port })
    } catch (error) {
      await end(next)
      rmSync(directory, { recursive: true, force: true })
      throw error
    }
    return next
  }

  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    get pid() {
      return running.pid
    },
    log: () => running.log(),
    async stop() {
      for (const client of clients) client.disconnect()
      await end(running)
      rmSync(directory, { recursive: true, force: true })
    },
    async kill() {
      running.child.kill('SIGKILL')
      await running.exited
    },
    pause() {
      running.child.kill('SIGSTOP')
    },
    resume() {
      running.child.kill('SIGCONT')
    },
    async restart() {
      await end(running)
      running = await launch()
    },
    client() {
      const client = plainClient({ ...access, port })
      clients.add(client)
      return client
    },
  }
}

/** A client that is in no hurry and hides nothing: for looking into the server from the outside. */
export function plainClient(options: RedisAccess & { port: number }): Redis {
  const client = new Redis({ host: '127.0.0.1', maxRetriesPerRequest: null, ...options })
  client.on('error', () => {}) // its commands tell; a server that is away is often what the test is about
  return client
}

interface Running {
  readonly child: ChildProcess
  readonly pid: number
  readonly exited: Promise<void>
  hasExited(): boolean
  log(): string
}

/** Started by us, hence ended by us, also when a test falls over on the way. */
const started = new Set<Running>()
const directories = new Set<string>()
process.on('exit', () => {
  for (const { child } of started) child.kill('SIGKILL')
  for (const directory of directories) rmSync(directory, { recursive: true, force: true })
})

function run(program: string, args: readonly string[], directory: string): Running {
  const child = spawn(program, args, { cwd: directory, stdio: ['ignore', 'pipe', 'pipe'] })
  const chunks: Buffer[] = []
  let exited = false
  let failure = ''
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk))
  const running: Running = {
    child,
    pid: child.pid ?? 0,
    exited: new Promise((resolve) => {
      const leave = () => {
        exited = true
        started.delete(running)
        resolve()
      }
      child.once('exit', leave)
      child.once('error', (error: NodeJS.ErrnoException) => {
        failure = error.code === 'ENOENT' ? `${program} is not installed: run "npm run setup"` : error.message
        leave()
      })
    }),
    hasExited: () => exited,
    log: () => failure + Buffer.concat(chunks).toString('utf8'),
  }
  started.add(running)
  directories.add(directory)
  return running
}

async function untilAnswering(running: Running, options: RedisAccess & { port: number }): Promise<void> {
  const client = plainClient({ ...options, retryStrategy: () => 10, commandTimeout: 5000 })
  try {
    let up = false
    client.ping().then(
      () => {
        up = true
      },
      () => {},
    )
    await until(() => up || running.hasExited(), { what: `redis-server on port ${options.port}` })
    if (!up) throw new Error(`redis-server did not start: ${running.log()}`)
  } finally {
    client.disconnect()
  }
}

async function end(running: Running): Promise<void> {
  if (running.hasExited()) return
  running.child.kill('SIGCONT') // one that is stopped takes no other signal
  running.child.kill('SIGTERM')
  const last = setTimeout(() => running.child.kill('SIGKILL'), 3000)
  await running.exited
  clearTimeout(last)
}

/** Free now, and its cluster bus port (ten thousand higher) as well. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = await listenAndLeave(0)
    if (port === undefined || port > 55_535) continue
    if ((await listenAndLeave(port + 10_000)) !== undefined) return port
  }
}

function listenAndLeave(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(undefined))
    server.listen(port, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : undefined))
    })
  })
}

function isPortTaken(error: unknown): boolean {
  return error instanceof Error && /Address already in use/i.test(error.message)
}
