import { readFileSync } from 'node:fs'
import { Redis, type RedisOptions } from 'ioredis'
import { freePort, makeDirectory, type RedisProcess, removeDirectory, startProcess } from './redis-process.ts'
import { until } from './until.ts'

export interface RedisServerOptions {
  /** Default: a free one. */
  readonly port?: number
  /** Further arguments of redis-server, such as `['--maxmemory', '5mb']`. */
  readonly args?: readonly string[]
  /** Keeps the data over a kill and a restart (an append-only file, synced on every write). */
  readonly persist?: boolean
  /** The default user's password. */
  readonly password?: string
  /** Speaks TLS, and only TLS, with these files. */
  readonly tls?: { readonly caFile: string; readonly certFile: string; readonly keyFile: string }
}

export interface RedisServer {
  /** `redis://` or `rediss://`, with the default user's password. */
  readonly url: string
  readonly port: number
  readonly pid: number
  /** What the server has written to its log so far. */
  log(): string
  /** Ends it and removes its directory. */
  stop(): Promise<void>
  /** SIGKILL, as a crash would. */
  kill(): Promise<void>
  /** SIGSTOP: it keeps its connections and answers nothing. */
  pause(): void
  resume(): void
  /** Starts it again on the same port and in the same directory; ends it first when it runs. */
  restart(): Promise<void>
  /** A plain client for looking in from the outside; closed with the server at the latest. */
  client(): Redis
}

/** A redis-server of the test's own, on the loopback interface, in a directory of its own. Answers when it resolves. */
export async function startRedis(options: RedisServerOptions = {}): Promise<RedisServer> {
  const { args = [], persist = false, password, tls } = options
  return startServer(options, (port, directory) => [
    ...(tls ? tlsArguments(tls, port) : ['--port', String(port)]),
    ...['--bind', '127.0.0.1', '--dir', directory, '--save', ''],
    ...['--appendonly', persist ? 'yes' : 'no', '--appendfsync', 'always'],
    ...['--repl-diskless-sync-delay', '0'],
    ...(password === undefined ? [] : ['--requirepass', password]),
    ...args,
  ])
}

type Arguments = (port: number, directory: string) => readonly string[]

/** For the other kinds of server: `argumentsFor` gives the command line, and may write files beforehand. */
export async function startServer(
  options: RedisServerOptions,
  argumentsFor: Arguments,
): Promise<RedisServer> {
  // Another test may take the port between our look and the start: then another port.
  for (let attempt = 1; ; attempt++) {
    try {
      return await startServerOn(options.port ?? (await freePort()), options, argumentsFor)
    } catch (error) {
      const isPortTaken = error instanceof Error && /already in use/i.test(error.message)
      if (options.port !== undefined || attempt === 5 || !isPortTaken) throw error
    }
  }
}

async function startServerOn(
  port: number,
  { password, tls }: RedisServerOptions,
  argumentsFor: Arguments,
): Promise<RedisServer> {
  const directory = makeDirectory()
  const commandLine = argumentsFor(port, directory)
  const access = {
    port,
    ...(password === undefined ? {} : { password }),
    ...(tls ? { tls: { ca: readFileSync(tls.caFile) } } : {}),
  }
  const clients = new Set<Redis>()
  let running: RedisProcess
  await launch()

  async function launch(): Promise<void> {
    running = startProcess(commandLine, directory)
    try {
      await untilAnswering(running, access)
    } catch (error) {
      await running.end()
      removeDirectory(directory)
      throw error
    }
  }

  return {
    url: `${tls ? 'rediss' : 'redis'}://${password === undefined ? '' : `:${encodeURIComponent(password)}@`}127.0.0.1:${port}`,
    port,
    get pid() {
      return running.pid
    },
    log: () => running.log(),
    async stop() {
      for (const client of clients) if (client.status !== 'end') client.disconnect()
      await running.kill() // its data goes with it, and it heeds a SIGTERM only ten times a second
      removeDirectory(directory)
    },
    kill: () => running.kill(),
    pause: () => running.signal('SIGSTOP'),
    resume: () => running.signal('SIGCONT'),
    async restart() {
      await running.end()
      await launch()
    },
    client() {
      const client = plainClient(access)
      clients.add(client)
      return client
    },
  }
}

export type RedisAccess = Pick<RedisOptions, 'username' | 'password' | 'tls' | 'retryStrategy'> & {
  readonly port: number
}

/** A client that waits as long as it takes. */
function plainClient(access: RedisAccess): Redis {
  const client = new Redis({ host: '127.0.0.1', maxRetriesPerRequest: null, ...access })
  client.on('error', () => {}) // its commands tell; a server that is away is often what the test is about
  return client
}

/** Asks the server who it is: on a port that another test was quicker to take, another one answers. */
async function untilAnswering(running: RedisProcess, access: RedisAccess): Promise<void> {
  const client = plainClient({ ...access, retryStrategy: () => 10 })
  let isUp = false
  client.info('server').then(
    (info) => {
      isUp = info.includes(`process_id:${running.pid}\r`)
    },
    () => {}, // the client left before an answer came: the process has ended, and its log says why
  )
  try {
    await until(() => isUp || running.hasEnded(), { what: `redis-server on port ${access.port}` })
    if (!isUp) throw new Error(`redis-server did not start: ${running.log()}`)
  } finally {
    client.disconnect()
  }
}

function tlsArguments(tls: NonNullable<RedisServerOptions['tls']>, port: number): string[] {
  return [
    ...['--port', '0', '--tls-port', String(port), '--tls-auth-clients', 'no'],
    ...['--tls-ca-cert-file', tls.caFile, '--tls-cert-file', tls.certFile, '--tls-key-file', tls.keyFile],
  ]
}
