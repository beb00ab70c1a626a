import { readFileSync } from 'node:fs'
import { Redis, type RedisOptions } from 'ioredis'
import { useFixture } from './fixture.ts'
import { freePort, makeDirectory, type RedisProcess, removeDirectory, startProcess } from './redis-process.ts'
import { until } from './until.ts'

export interface RedisServerOptions {
  /** Default: a free port. */
  readonly port?: number
  /** Further arguments of redis-server, such as `['--maxmemory', '5mb']`. */
  readonly args?: readonly string[]
  /** Keeps the data when killed and restarted: an append-only file, synced on every write. */
  readonly persist?: boolean
  /** The default user's password. */
  readonly password?: string
  /** Accepts only TLS, with these files. */
  readonly tls?: ServerTls
}

export interface ServerTls {
  readonly caFile: string
  readonly certFile: string
  readonly keyFile: string
  /** Clients need a certificate of the authority; the server's own is one. */
  readonly requiresClientCertificate?: boolean
}

export interface RedisServer {
  /** `redis://` or `rediss://`, with the default user's password. */
  readonly url: string
  readonly port: number
  readonly pid: number
  isRunning(): boolean
  /** The server's log so far. */
  log(): string
  /** Stops the server and removes its directory. */
  stop(): Promise<void>
  /** Sends SIGKILL, as in a crash. */
  kill(): Promise<void>
  /** Sends SIGSTOP: the server keeps its connections and does not reply. */
  pause(): void
  resume(): void
  /** Restarts the server on the same port and in the same directory. */
  restart(): Promise<void>
  /** Opens a client for inspection. It is closed with the server at the latest. */
  client(): Redis
}

/**
 * Starts a redis-server on the loopback interface, in its own directory. It replies when this
 * resolves.
 */
export async function startRedis(options: RedisServerOptions = {}): Promise<RedisServer> {
  const { args = [], persist = false, password, tls } = options
  return startServer(options, (port, directory) => [
    ...(tls ? tlsArguments(tls, port) : ['--port', String(port)]),
    '--bind',
    '127.0.0.1',
    '--dir',
    directory,
    '--save',
    '',
    '--appendonly',
    persist ? 'yes' : 'no',
    '--appendfsync',
    'always',
    '--repl-diskless-sync-delay',
    '0',
    ...(password === undefined ? [] : ['--requirepass', password]),
    ...args,
  ])
}

type Arguments = (port: number, directory: string) => readonly string[]

/** One server for all tests of a file. */
export function useRedis(): RedisServer {
  return useFixture({ start: () => startRedis(), stop: (redis) => redis.stop() })
}

/**
 * Starts a server of another kind: `argumentsFor` returns the command line and may write files
 * first.
 */
export async function startServer(
  options: RedisServerOptions,
  argumentsFor: Arguments,
): Promise<RedisServer> {
  // another test may take the port between the check and the start: then try another port
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
    ...(tls ? { tls: readTls(tls) } : {}),
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
    isRunning: () => !running.hasEnded(),
    log: () => running.log(),
    async stop() {
      for (const client of clients) if (client.status !== 'end') client.disconnect()
      // its data is deleted anyway, and it handles SIGTERM only ten times a second
      await running.kill()
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

/** A client without a timeout. */
function plainClient(access: RedisAccess): Redis {
  const client = new Redis({ host: '127.0.0.1', maxRetriesPerRequest: null, ...access })
  client.on('error', () => {}) // commands report the error; many tests stop the server on purpose
  return client
}

/** Checks the server's identity: if another test has taken the port, its server replies. */
async function untilAnswering(running: RedisProcess, access: RedisAccess): Promise<void> {
  const client = plainClient({ ...access, retryStrategy: () => 10 })
  let isUp = false
  client.info('server').then(
    (info) => {
      isUp = info.includes(`process_id:${running.pid}\r`)
    },
    () => {}, // the client was closed first: the process has ended, and its log has the reason
  )
  try {
    await until(() => isUp || running.hasEnded(), { what: `redis-server on port ${access.port}` })
    if (!isUp) throw new Error(`redis-server did not start: ${running.log()}`)
  } finally {
    client.disconnect()
  }
}

/** What a client needs, in PEM. */
const readTls = ({ caFile, certFile, keyFile }: ServerTls) => {
  const [ca, cert, key] = [caFile, certFile, keyFile].map((file) => readFileSync(file, 'utf8'))
  return { ca, cert, key }
}

export function tlsArguments(tls: ServerTls, port: number): string[] {
  return [
    '--port',
    '0',
    '--tls-port',
    String(port),
    '--tls-auth-clients',
    tls.requiresClientCertificate ? 'yes' : 'no',
    '--tls-replication',
    'yes',
    '--tls-cluster',
    'yes',
    '--tls-ca-cert-file',
    tls.caFile,
    '--tls-cert-file',
    tls.certFile,
    '--tls-key-file',
    tls.keyFile,
  ]
}
