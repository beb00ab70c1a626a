import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { parsePamConfig } from 'gatehouse-sandbox/pam/pam-config'
import { loadSandboxConfig } from 'gatehouse-sandbox/sandbox-config'
import { z } from 'zod'
import { loadConfig } from '../../src/config/load-config.ts'
import { VARIABLE_NAMES } from '../../src/config/variables.ts'
import { imageFacts, longestStopSeconds, packageVersion, readProject, readYaml } from './read-deploy.ts'

const list = z.array(z.string()).default([])
const service = z.looseObject({
  image: z.string(),
  user: z.string(),
  restart: z.string(),
  secrets: list,
  ports: list,
  profiles: list,
  read_only: z.literal(true),
  cap_drop: z.tuple([z.literal('ALL')]),
  security_opt: z.tuple([z.literal('no-new-privileges:true')]),
  mem_limit: z.string(),
  cpus: z.number(),
  pids_limit: z.number(),
  stop_grace_period: z.string().default('10s'),
  environment: z.record(z.string(), z.string()).default({}),
})
const compose = z
  .object({
    services: z.record(z.string(), service),
    networks: z.record(z.string(), z.unknown()),
    secrets: z.record(z.string(), z.object({ file: z.string() })),
  })
  .parse(readYaml('deploy/compose.yaml'))
const { services } = compose
const brokers = Object.entries(services).flatMap(([name, one]) =>
  name.startsWith('gatehouse-') ? [one] : [],
)

test('two brokers have the same settings, which match the image', () => {
  expect(brokers).toHaveLength(2)
  const [one, other] = brokers.map(
    ({ networks: _, environment: { OPS_HOST: _host, ...environment }, ...rest }) => ({
      ...rest,
      environment,
    }),
  )
  expect(one).toEqual(other)
  expect(one).toMatchObject({ user: imageFacts().user, image: `gatehouse:${packageVersion()}` })
  expect(one).toMatchObject({ build: { context: '..', args: ['GIT_REVISION'] } })
  expect(Number.parseInt(one?.stop_grace_period ?? '', 10)).toBeGreaterThanOrEqual(longestStopSeconds())
})

test('only the proxy and the sandbox publish ports, on 127.0.0.1', () => {
  const published = Object.entries(services).flatMap(([name, { ports }]) => ports.map((port) => [name, port]))
  expect(published).toEqual([
    ['proxy', '127.0.0.1:8080:8080'],
    ['sandbox', '127.0.0.1:8081:8081'],
  ])
})

test('the ops port of each broker is open only on an internal network that no other service is on', () => {
  const ops = z.object({ ops: z.object({ ipv4_address: z.string() }) })
  const addresses = brokers.map(({ networks }) => ops.parse(networks).ops.ipv4_address)
  expect(new Set(addresses).size).toBe(2)
  expect(brokers.map(({ environment }) => environment.OPS_HOST)).toEqual(addresses)
  expect(compose.networks.ops).toMatchObject({ internal: true })
  const onIt = Object.entries(services).filter(([, { networks }]) =>
    JSON.stringify(networks ?? '').includes('"ops"'),
  )
  expect(onIt.map(([name]) => name)).toEqual(['gatehouse-1', 'gatehouse-2'])
})

test('the proxy uses both brokers’ port, closes idle connections before they do, and is in TRUST_PROXY', () => {
  const nginx = readProject('deploy/compose/nginx.conf')
  const names = Object.keys(services).filter((name) => name.startsWith('gatehouse-'))
  const upstreams = [...nginx.matchAll(/^ +server (gatehouse-\d):(\d+);$/gm)].map(
    ([, name, port]) => `${name}:${port}`,
  )
  expect(upstreams).toEqual(names.map((name) => `${name}:${imageFacts().port}`))
  expect(nginx).toContain('proxy_set_header X-Forwarded-For $remote_addr;')
  const edge = z.object({ edge: z.object({ ipv4_address: z.string() }) })
  expect(edge.parse(services.proxy?.networks).edge.ipv4_address).toBe(brokers[0]?.environment.TRUST_PROXY)
  const addresses = [services.proxy, ...brokers].map((one) => edge.parse(one?.networks).edge.ipv4_address)
  expect(new Set(addresses).size).toBe(3)
})

test('the sandbox has its own image, whose build context contains what it copies', () => {
  expect(services.sandbox?.build).toEqual({ context: '..', dockerfile: 'deploy/compose/sandbox.Dockerfile' })
  const given = readProject('deploy/compose/sandbox.Dockerfile.dockerignore').split('\n')
  expect(given[0]).toBe('*')
  expect(given).toContain('!src')
  const copied = [...readProject('deploy/compose/sandbox.Dockerfile').matchAll(/^COPY (?!--from)(.+) \S+$/gm)]
  const sources = copied.flatMap(([, paths = '']) => paths.split(' '))
  expect(sources.length).toBeGreaterThan(4)
  for (const source of sources) expect(given).toContain(`!${source}`)
})

describe('with secrets made by make-secrets.sh', () => {
  let home = ''
  const secret = (name: string) => join(home, 'compose/secrets', name)
  const make = () => execFileSync('sh', [join(home, 'compose/make-secrets.sh')], { stdio: 'pipe' })

  beforeAll(() => {
    home = mkdtempSync(join(tmpdir(), 'gatehouse-compose-'))
    cpSync(
      new URL('../../deploy/compose/make-secrets.sh', import.meta.url),
      join(home, 'compose/make-secrets.sh'),
    )
    make()
  })
  afterAll(() => rmSync(home, { recursive: true, force: true }))

  test('each secret in use has a file, and git ignores them', () => {
    const used = new Set(Object.values(services).flatMap(({ secrets }) => secrets))
    expect([...used].sort()).toEqual(Object.keys(compose.secrets).sort())
    const files = Object.values(compose.secrets).map(({ file }) => file)
    for (const file of files) expect(statSync(join(home, file)).size).toBeGreaterThan(8)
    expect(readProject('.gitignore').split('\n')).toContain('deploy/compose/secrets/')
  })

  test('the files’ folder is private, and the CA key is deleted', () => {
    expect(statSync(join(home, 'compose/secrets')).mode & 0o777).toBe(0o700)
    expect(readdirSync(join(home, 'compose/secrets')).filter((name) => name.includes('ca-key'))).toEqual([])
  })

  test('the brokers’ environment is a valid production configuration, and every variable is known', () => {
    const environment = { ...brokers[0]?.environment, NODE_ENV: 'production' }
    const known = new Set(VARIABLE_NAMES.flatMap((name) => [name, `${name}_FILE`]))
    expect(Object.keys(environment).filter((name) => !known.has(name))).toEqual([])
    const inContainer = (path: string) => {
      const name = /^\/run\/secrets\/(.+)$/.exec(path)?.[1] ?? ''
      expect(brokers[0]?.secrets).toContain(name)
      return readFileSync(join(home, compose.secrets[name]?.file ?? ''), 'utf8')
    }
    const config = loadConfig(environment, inContainer)
    const sandbox = loadSandboxConfig()
    const { team, keys } = parsePamConfig(sandbox.pam)
    expect(sandbox.apiTokens).toEqual(expect.arrayContaining([config.authn.apiToken.value]))
    expect(config.pam?.team).toBe(team)
    const key = readFileSync(secret('pam-key-id'), 'utf8').trim()
    expect(keys.find(({ keyId }) => keyId === key)?.keySecret).toBe(
      readFileSync(secret('pam-key-secret'), 'utf8').trim(),
    )
  })

  test('the sandbox’s certificate is for the host that the brokers call, from the CA that they trust', () => {
    const certificate = new X509Certificate(readFileSync(secret('org.pem')))
    const host = new URL(brokers[0]?.environment.AUTHN_BASE_URL ?? '').hostname
    expect(certificate.checkHost(host)).toBe(host)
    expect(certificate.verify(new X509Certificate(readFileSync(secret('org-ca.pem'))).publicKey)).toBe(true)
    expect(services.sandbox?.networks).toMatchObject({ org: { aliases: [host] } })
    const ports = [...readProject('deploy/compose/org.conf').matchAll(/listen (\d+) ssl;/g)].map(
      ([, port]) => port,
    )
    const called = [brokers[0]?.environment.AUTHN_BASE_URL, brokers[0]?.environment.PAM_BASE_URL]
    expect(called.map((url) => new URL(url ?? '').port)).toEqual(ports)
  })
})
