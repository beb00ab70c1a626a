import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { recordProcess } from './recorded-traffic.ts'
import { until } from './until.ts'

/** A broker in its own process, started from the built files and environment variables. */
export interface BrokerProcess {
  readonly url: string
  readonly opsUrl: string
  readonly port: string
  readonly child: ChildProcess
  readonly output: { out: string; err: string }
  readonly exited: Promise<number | null>
}

export interface BrokerDirectory {
  /** Starts a broker and resolves when it listens. PORT and OPS_PORT default to free ports. */
  start(env: Readonly<Record<string, string>>): Promise<BrokerProcess>
  /** Starts a broker without waiting for it to listen. */
  spawn(env: Readonly<Record<string, string>>): ReturnType<typeof spawnNode>
  /** Ends every started process and removes the directory. */
  remove(): Promise<void>
}

/**
 * A directory with the built broker and its `config/default.json`, as in the image. `tunables` is
 * the content of `CONFIG_FILE`. Needs `npm run build:all`.
 */
export async function makeBrokerDirectory(tunables: object = {}): Promise<BrokerDirectory> {
  const home = await mkdtemp(join(tmpdir(), 'gatehouse-broker-'))
  const isNeeded = (path: string) => !/\.(map|d\.ts)$/.test(path)
  await cp(resolve('dist'), join(home, 'dist'), { recursive: true, filter: isNeeded })
  await symlink(resolve('node_modules'), join(home, 'node_modules'))
  await writeFile(join(home, 'package.json'), '{ "type": "module", "version": "0.0.0-test" }')
  await mkdir(join(home, 'config'))
  await cp(resolve('config', 'default.json'), join(home, 'config', 'default.json'))
  const configFile = join(home, 'changed.json')
  await writeFile(configFile, JSON.stringify(tunables))
  const children: ChildProcess[] = []

  const spawnOne: BrokerDirectory['spawn'] = (env) => {
    const ports = { PORT: '0', OPS_PORT: '0', HOST: '127.0.0.1', CONFIG_FILE: configFile }
    const started = spawnNode(join(home, 'dist', 'main.js'), { ...ports, ...env })
    children.push(started.child)
    recordProcess(() => started.output.out + started.output.err)
    return started
  }

  return {
    spawn: spawnOne,

    async start(env) {
      const started = spawnOne(env)
      const ports = await until(() => portsIn(started.output.out) ?? started.child.exitCode !== null, {
        what: 'a listening broker',
      })
      if (typeof ports === 'boolean') throw new Error(`the broker does not listen: ${started.output.err}`)
      return {
        ...started,
        port: ports.public,
        url: `http://localhost:${ports.public}`,
        opsUrl: `http://${env.OPS_HOST ?? '127.0.0.1'}:${ports.ops}`,
      }
    },

    async remove() {
      for (const child of children) child.kill('SIGKILL')
      await rm(home, { recursive: true, force: true })
    },
  }
}

/** Starts a built program, such as the broker or the demo, with any command line. */
export function spawnNode(main: string, env: Readonly<Record<string, string>>, ...args: string[]) {
  const child = spawn(process.execPath, [main, ...args], { env: { PATH: process.env.PATH, ...env } })
  const output = { out: '', err: '' }
  child.stdout.on('data', (chunk) => {
    output.out += chunk
  })
  child.stderr.on('data', (chunk) => {
    output.err += chunk
  })
  return { child, output, exited: once(child, 'close').then(([code]) => code as number | null) }
}

/** The ports in the log of a broker that listens. */
export function portsIn(out: string): { public: string; ops: string } | undefined {
  const port = (name: string) =>
    new RegExp(`"event":"listening","name":"${name}","port":(\\d+)`).exec(out)?.[1]
  const [publicPort, ops] = [port('public'), port('ops')]
  return publicPort === undefined || ops === undefined ? undefined : { public: publicPort, ops }
}
