import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type PathName, type Prepare, prepare, prepareWithIdTokens } from './prepare-requests.ts'
import { type NodeOptions, type ServerProcess, startBroker, startNode } from './processes.ts'

/** A server that is measured. */
export interface Target {
  readonly name: string
  readonly paths: readonly PathName[]
  readonly prepare: Prepare
  start(options: Pick<NodeOptions, 'env' | 'logFile'>): Promise<ServerProcess>
}

const OF_BROKER = ['S', 'F', 'R', 'J', 'P', 'V', 'K', 'G'] as const
const OF_BOUND_SESSIONS = ['B', 'C'] as const
export const ALL_PATHS: readonly PathName[] = [...OF_BROKER, ...OF_BOUND_SESSIONS]

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))

const FOR_ALL = { paths: ['S', 'F', 'P', 'V', 'K', 'G'], prepare } as const

export const BROKER: Target = { name: 'broker', paths: OF_BROKER, prepare, start: startGatehouse }

/** Its browsers can bind their sessions. */
export const BOUND_BROKER: Target = {
  name: 'bound-broker',
  paths: OF_BOUND_SESSIONS,
  prepare,
  start: ({ env, logFile }) => startGatehouse({ env: { ...env, DEVICE_BOUND_SESSIONS: 'on' }, logFile }),
}

export const FLOOR: Target = { name: 'floor', ...FOR_ALL, start: script('servers/floor.mjs') }

export const TARGETS: readonly Target[] = [
  FLOOR,
  BROKER,
  BOUND_BROKER,
  { name: 'plain', ...FOR_ALL, start: script('servers/plain.mjs') },
  {
    name: 'express-openid-connect',
    paths: ['S', 'F'],
    prepare: prepareWithIdTokens,
    start: script('peers/express-openid-connect.mjs'),
  },
]

/** Not a server: loads the production packages and ends. */
export const PACKAGES = script('servers/packages.mjs')

/** The broker of another checkout, which `npm run build` has built there. */
export function otherBuild(folder: string): Target {
  const main = resolve(folder, 'dist/main.js')
  return { ...BROKER, name: 'other-build', start: (options) => startGatehouse(options, main) }
}

function script(path: string): Target['start'] {
  return (options) => startNode(at(`../../bench/${path}`), { ...options, place: 'server' })
}

/** The production build with its default settings: all limits, checks and log lines are on. */
export function startGatehouse(
  { env, logFile }: Pick<NodeOptions, 'env' | 'logFile'>,
  main = at('../../dist/main.js'),
): Promise<ServerProcess> {
  return startBroker(main, {
    logFile,
    place: 'server',
    env: {
      ...env,
      PUBLIC_URL: 'https://portal.example.test',
      TRUST_PROXY: '127.0.0.1/32',
      AUTHN_API_TOKEN: 'plainly-fake-bench-ssws-token',
      PAM_TEAM: 'bench',
      PAM_KEY_ID: 'bench-key',
      PAM_KEY_SECRET: 'plainly-fake-bench-key-secret',
      PAM_DIRECTORY: 'all',
      JWT_AUDIENCES: 'bench',
      SECRET_KEYS: Buffer.alloc(32, 'plainly-fake-bench-key').toString('base64'),
    },
  })
}
