import { fileURLToPath } from 'node:url'
import { type PathName, type Prepare, prepare, prepareByRedirects } from './prepare-requests.ts'
import {
  type CpuPlacement,
  type NodeOptions,
  type ServerProcess,
  startBroker,
  startNode,
} from './processes.ts'

/** A server that is measured. */
export interface Target {
  readonly name: TargetName
  readonly paths: readonly PathName[]
  start(options: Pick<NodeOptions, 'env' | 'logFile'>): Promise<ServerProcess>
  readonly prepare: Prepare
}

export type TargetName = 'floor' | 'broker' | 'plain' | 'fastify' | 'express-openid-connect'

export const ALL_PATHS = ['S', 'F', 'P', 'V', 'K', 'G'] as const satisfies readonly PathName[]

export const SECRET_KEY = Buffer.alloc(32, 'plainly-fake-bench-key')

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))

export const TARGETS: readonly Target[] = [
  {
    name: 'floor',
    paths: ALL_PATHS,
    start: script('./servers/floor.js'),
    prepare,
  },
  { name: 'broker', paths: ALL_PATHS, start: startGatehouse, prepare },
  {
    name: 'fastify',
    paths: ALL_PATHS,
    start: script('../../bench/peers/fastify.mjs'),
    prepare,
  },
  {
    name: 'plain',
    paths: ALL_PATHS,
    start: script('./servers/plain.js'),
    prepare,
  },
  {
    name: 'express-openid-connect',
    paths: ['S', 'F'],
    start: script('../../bench/peers/express-openid-connect.mjs'),
    prepare: prepareByRedirects,
  },
]

function script(path: string): Target['start'] {
  return (options) => startNode(at(path), { ...options, place: 'server' })
}

/** The production build with its default settings: all limits, checks and log lines are on. */
export function startGatehouse({
  env,
  logFile,
  place = 'server',
}: Pick<NodeOptions, 'env' | 'logFile'> & { readonly place?: CpuPlacement }): Promise<ServerProcess> {
  return startBroker(at('../../dist/main.js'), {
    logFile,
    place,
    env: {
      ...env,
      PUBLIC_URL: 'https://portal.example.test',
      TRUST_PROXY: '127.0.0.1/32',
      AUTHN_API_TOKEN: 'plainly-fake-bench-ssws-token',
      PAM_TEAM: 'bench',
      PAM_KEY_ID: 'bench-key',
      PAM_KEY_SECRET: 'plainly-fake-bench-key-secret',
      PAM_DIRECTORY: 'all',
      SECRET_KEYS: SECRET_KEY.toString('base64'),
    },
  })
}
