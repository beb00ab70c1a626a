import { spawn } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * A running redis-server or another server that a test started. It ends when the test process ends,
 * for whatever reason.
 */
export interface RedisProcess {
  readonly pid: number
  hasEnded(): boolean
  /** The output so far, or the reason why the process did not start. */
  log(): string
  signal(name: 'SIGSTOP' | 'SIGCONT'): void
  /** Sends SIGKILL, as in a crash. */
  kill(): Promise<void>
  /** Sends SIGTERM, then SIGKILL. */
  end(): Promise<void>
}

/** Some server programs are in directories that are not on every user's PATH. */
export const SEARCH_PATH = `${process.env.PATH}:/usr/local/sbin:/usr/sbin:/sbin`

export function startProcess(
  args: readonly string[],
  directory: string,
  program = process.env.REDIS_SERVER ?? 'redis-server',
): RedisProcess {
  const logFile = join(directory, 'server.log')
  const log = openSync(logFile, 'a')
  const child = spawn('sh', ['-c', GUARDED, directory, program, ...args], {
    cwd: directory,
    stdio: ['ignore', log, log, 'pipe'],
    env: { ...process.env, PATH: SEARCH_PATH },
  })
  closeSync(log)
  child.unref() // a test that does not stop it must not block the runner
  const watchdog = child.stdio[3] as Socket // a duplex pipe
  watchdog.on('error', () => {})
  watchdog.unref()

  let hasEnded = false
  let failure = ''
  const ended = new Promise<void>((resolve) => {
    const leave = () => {
      hasEnded = true
      watchdog.end('done\n')
      resolve()
    }
    child.once('exit', (code) => {
      if (code === NOT_FOUND) failure = `${program} is not installed: run "npm run setup"`
      leave()
    })
    child.once('error', (error) => {
      failure = error.message
      leave()
    })
  })

  return {
    pid: child.pid ?? 0,
    hasEnded: () => hasEnded,
    log: () => failure || readLog(logFile),
    signal: (name) => void child.kill(name),
    async kill() {
      child.ref()
      child.kill('SIGKILL')
      await ended
    },
    async end() {
      if (hasEnded) return
      child.kill('SIGCONT') // a stopped process handles no other signal
      child.kill('SIGTERM')
      const firmly = setTimeout(() => child.kill('SIGKILL'), 2000)
      await ended
      clearTimeout(firmly)
    },
  }
}

/**
 * A shell script that runs the server and, in the background, a watchdog that reads from a pipe. If
 * the pipe closes without a message, the test process has died: the watchdog kills the server and
 * removes its directory. An exit hook is not enough, because the test runner's `process` never
 * emits `exit` and nothing runs on SIGKILL. One shell does both, because starting a process from a
 * large test runner takes 10 ms or more.
 */
const GUARDED = `
  { trap "" INT TERM HUP; read -r word || { kill -KILL $$; rm -rf "$0"; }; } <&3 >/dev/null 2>&1 &
  exec "$@" 3<&-`

/** The exit code of a shell that does not find the program. */
const NOT_FOUND = 127

function readLog(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return '' // the server was stopped and its directory removed
  }
}

export function makeDirectory(): string {
  return mkdtempSync(join(tmpdir(), 'gatehouse-redis-'))
}

export function removeDirectory(directory: string): void {
  rmSync(directory, { recursive: true, force: true })
}

/**
 * Returns a free port whose cluster bus port (10,000 higher) is free too. Both are below the
 * ephemeral range, so no outgoing connection takes them before the server does.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 11_000 + Math.floor(Math.random() * 11_000)
    if ((await isFree(port)) && (await isFree(port + 10_000))) return port
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
