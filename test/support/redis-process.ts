import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
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
  const child = spawn(program, args, {
    cwd: directory,
    stdio: ['ignore', log, log],
    env: { ...process.env, PATH: SEARCH_PATH },
  })
  closeSync(log)
  child.unref() // a test that forgets to stop it must not keep the runner waiting
  const dismissGuard = child.pid === undefined ? () => {} : startGuard(child.pid, directory)

  let hasEnded = false
  let failure = ''
  const ended = new Promise<void>((resolve) => {
    const leave = () => {
      hasEnded = true
      dismissGuard()
      resolve()
    }
    child.once('exit', leave)
    child.once('error', (error: NodeJS.ErrnoException) => {
      failure = error.code === 'ENOENT' ? `${program} is not installed: run "npm run setup"` : error.message
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
 * A shell that waits for a word from us. When our end of the pipe closes without one, we have died, and it ends the
 * server and removes its directory. (An exit hook would not do: the test runner gives tests a `process` of their own
 * that never emits `exit`, and nothing runs on SIGKILL.)
 */
function startGuard(pid: number, directory: string): () => void {
  const script = 'trap "" INT TERM HUP; read -r word || { kill -KILL "$0"; rm -rf "$1"; }'
  const guard = spawn('sh', ['-c', script, String(pid), directory], { stdio: ['pipe', 'ignore', 'ignore'] })
  guard.once('error', () => {}) // without a shell there is no guard; everything else works
  guard.stdin.once('error', () => {})
  guard.unref()
  unref(guard.stdin)
  return () => guard.stdin.end('done\n')
}

function unref(stream: NonNullable<ChildProcess['stdin']>): void {
  if ('unref' in stream && typeof stream.unref === 'function') stream.unref()
}

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
