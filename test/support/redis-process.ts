import { spawn } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** One running process of redis-server, or of another server that a test starts. It ends with the process that started it, whatever becomes of that. */
export interface RedisProcess {
  readonly pid: number
  hasEnded(): boolean
  /** What it has written so far; or why it could not be started. */
  log(): string
  signal(name: 'SIGSTOP' | 'SIGCONT'): void
  /** As a crash would: SIGKILL. */
  kill(): Promise<void>
  /** Politely, then firmly. */
  end(): Promise<void>
}

/** Servers lie in directories that are not on every user's PATH. */
export const SEARCH_PATH = `${process.env.PATH}:/usr/local/sbin:/usr/sbin:/sbin`

export function startProcess(
  args: readonly string[],
  directory: string,
  program = 'redis-server',
): RedisProcess {
  const logFile = join(directory, 'server.log')
  const log = openSync(logFile, 'a')
  const child = spawn('sh', ['-c', GUARDED, directory, program, ...args], {
    cwd: directory,
    stdio: ['ignore', log, log, 'pipe'],
    env: { ...process.env, PATH: SEARCH_PATH },
  })
  closeSync(log)
  child.unref() // a test that forgets to stop it must not keep the runner waiting
  const guard = child.stdio[3] as Socket // a pipe to and fro
  guard.on('error', () => {})
  guard.unref()

  let hasEnded = false
  let failure = ''
  const ended = new Promise<void>((resolve) => {
    const leave = () => {
      hasEnded = true
      guard.end('done\n')
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
      child.kill('SIGCONT') // one that is stopped takes no other signal
      child.kill('SIGTERM')
      const firmly = setTimeout(() => child.kill('SIGKILL'), 2000)
      await ended
      clearTimeout(firmly)
    },
  }
}

/**
 * Becomes the server, and leaves a guard beside it that waits for a word from us. When our end of the pipe closes without
 * one, we have died, and the guard ends the server and removes its directory. (An exit hook would not do: the test runner
 * gives tests a `process` of their own that never emits `exit`, and nothing runs on SIGKILL.) One shell for both, as every
 * start of a process from a test runner with hundreds of megabytes costs 10 ms and more.
 */
const GUARDED = `
  { trap "" INT TERM HUP; read -r word || { kill -KILL $$; rm -rf "$0"; }; } <&3 >/dev/null 2>&1 &
  exec "$@" 3<&-`

/** What a shell exits with when it does not find the program. */
const NOT_FOUND = 127

function readLog(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return '' // the server was stopped, and its directory is gone
  }
}

export function makeDirectory(): string {
  return mkdtempSync(join(tmpdir(), 'gatehouse-redis-'))
}

export function removeDirectory(directory: string): void {
  rmSync(directory, { recursive: true, force: true })
}

/**
 * A port that is free now, and so is its cluster bus port, ten thousand higher. Both lie below the range from which
 * the kernel serves outgoing connections, so that none of those takes it before the server does.
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
