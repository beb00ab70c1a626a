import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** One running process of redis-server. Whatever happens to the test, it ends with it. */
export interface RedisProcess {
  readonly pid: number
  /** Resolves when it has ended, for whatever reason. */
  readonly ended: Promise<void>
  hasEnded(): boolean
  /** What it has written so far; or why it could not be started. */
  log(): string
  signal(name: NodeJS.Signals): void
  /** Politely, then firmly. */
  end(): Promise<void>
}

export function startProcess(args: readonly string[], directory: string): RedisProcess {
  const child = spawn('redis-server', args, { cwd: directory, stdio: ['ignore', 'pipe', 'pipe'] })
  const lines: string[] = []
  child.stdout.on('data', (chunk: Buffer) => lines.push(chunk.toString('utf8')))
  child.stderr.on('data', (chunk: Buffer) => lines.push(chunk.toString('utf8')))
  let hasEnded = false
  running.add(child)
  const ended = new Promise<void>((resolve) => {
    const leave = () => {
      hasEnded = true
      running.delete(child)
      resolve()
    }
    child.once('exit', leave)
    child.once('error', (error: NodeJS.ErrnoException) => {
      lines.push(
        error.code === 'ENOENT' ? 'redis-server is not installed: run "npm run setup"' : error.message,
      )
      leave()
    })
  })

  return {
    pid: child.pid ?? 0,
    ended,
    hasEnded: () => hasEnded,
    log: () => lines.join(''),
    signal: (name) => void child.kill(name),
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

/** A directory of the server's own, gone when this process ends. */
export function makeDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-redis-'))
  directories.add(directory)
  return directory
}

export function removeDirectory(directory: string): void {
  rmSync(directory, { recursive: true, force: true })
  directories.delete(directory)
}

const running = new Set<ChildProcess>()
const directories = new Set<string>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
  for (const directory of directories) rmSync(directory, { recursive: true, force: true })
})

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
