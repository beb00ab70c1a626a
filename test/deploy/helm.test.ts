import { readdirSync } from 'node:fs'
import { describe, expect, test } from '@jest/globals'
import { parseAllDocuments } from 'yaml'
import { z } from 'zod'
import { loadConfig } from '../../src/config/load-config.ts'
import { generateKey } from '../../src/config/secret-values.ts'
import { isSecret, VARIABLE_NAMES } from '../../src/config/variables.ts'
import { imageFacts, longestStopSeconds, packageVersion, readProject, readYaml } from './read-deploy.ts'
import { objectOf, REQUIRED, renderChart } from './render-chart.ts'

const CHART = 'deploy/helm/gatehouse'
const TUNABLES = { http: { shutdownGraceMs: 40_500 } }
const PAM = { PAM_BASE_URL: 'https://pam.example.net', PAM_TEAM: 'your-team' }
const OPTIONAL_SECRETS = ['EVENT_HOOK_SECRET', 'APP_TOKENS', 'OPS_TOKENS', 'OTEL_EXPORTER_OTLP_HEADERS']

const labels = z.record(z.string(), z.string())
const probe = z.object({
  httpGet: z.unknown(),
  periodSeconds: z.number(),
  timeoutSeconds: z.number(),
  failureThreshold: z.number(),
})
const pod = z.object({
  automountServiceAccountToken: z.boolean(),
  enableServiceLinks: z.boolean(),
  securityContext: z.unknown(),
  containers: z.tuple([
    z.object({
      image: z.string(),
      securityContext: z.unknown(),
      command: z.array(z.string()).optional(),
      env: z.array(z.looseObject({ name: z.string(), value: z.string().optional() })),
      volumeMounts: z.array(
        z.object({ name: z.string(), mountPath: z.string(), readOnly: z.literal(true) }).strict(),
      ),
    }),
  ]),
  volumes: z.array(
    z.looseObject({ name: z.string(), secret: z.unknown().optional(), configMap: z.unknown().optional() }),
  ),
})
const deployment = z.object({
  spec: z.object({
    selector: z.object({ matchLabels: labels }),
    template: z.object({
      metadata: z.object({ labels, annotations: labels.optional() }),
      spec: pod.extend({
        terminationGracePeriodSeconds: z.number(),
        containers: z.tuple([
          pod.shape.containers.def.items[0].extend({
            ports: z.array(z.object({ name: z.string(), containerPort: z.number() })),
            startupProbe: probe,
            livenessProbe: probe,
            readinessProbe: probe,
          }),
        ]),
      }),
    }),
  }),
})
const standard = renderChart()
const { spec } = deployment.parse(objectOf('Deployment', standard))
const container = spec.template.spec.containers[0]
const doctor = z.object({ metadata: z.object({ labels }), spec: pod }).parse(objectOf('Pod', standard))

test.each([
  ['broker', spec.template.spec],
  ['doctor', doctor.spec],
])(
  '%s: non-root, read-only file system, no capabilities, no service-account token',
  (_, { containers, ...rest }) => {
    const [user, group] = imageFacts().user.split(':').map(Number)
    expect(rest.securityContext).toEqual({
      runAsNonRoot: true,
      runAsUser: user,
      runAsGroup: group,
      fsGroup: group,
      seccompProfile: { type: 'RuntimeDefault' },
    })
    expect(containers[0].securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    expect([rest.automountServiceAccountToken, rest.enableServiceLinks]).toEqual([false, false])
  },
)

test('the grace period exceeds the longest shutdown, also with another http.shutdownGraceMs', () => {
  const grace = (values: object) =>
    deployment.parse(objectOf('Deployment', renderChart({ env: REQUIRED, ...values }))).spec.template.spec
      .terminationGracePeriodSeconds
  expect(spec.template.spec.terminationGracePeriodSeconds).toBe(longestStopSeconds() + 2)
  expect(grace({ tunables: TUNABLES })).toBe(46)
  expect(grace({ tunables: { session: { maxPerUser: 5 } } })).toBe(longestStopSeconds() + 2)
})

test('probes call the ops listener on the pod’s address, and their timeout exceeds that of its checks', () => {
  expect(container.startupProbe.httpGet).toEqual({ path: '/livez', port: 'ops' })
  expect(container.livenessProbe.httpGet).toEqual({ path: '/livez', port: 'ops' })
  expect(container.readinessProbe.httpGet).toEqual({ path: '/readyz', port: 'ops' })
  expect(environmentOf(container).OPS_HOST).toBe('0.0.0.0')
  const settings = z.object({ store: z.object({ commandTimeoutMs: z.number() }) })
  const { store } = settings.parse(readYaml('config/default.json'))
  expect(container.readinessProbe.timeoutSeconds * 1000).toBeGreaterThan(store.commandTimeoutMs)
})

test('Deployment, image, Service, NetworkPolicy and PodMonitor use the same ports', () => {
  const ports = Object.fromEntries(
    container.ports.map(({ name, containerPort }) => [name, `${containerPort}`]),
  )
  const environment = environmentOf(container)
  expect(ports).toEqual({ http: environment.PORT, ops: environment.OPS_PORT })
  expect(ports.http).toBe(imageFacts().port)
  expect(objectOf('Service', standard)).toMatchObject({ spec: { ports: [{ port: 80, targetPort: 'http' }] } })
  const monitor = objectOf('PodMonitor', renderChart({ env: REQUIRED, monitoring: { enabled: true } }))
  expect(monitor).toMatchObject({ spec: { podMetricsEndpoints: [{ port: 'ops', path: '/metrics' }] } })
})

test('all selectors match the broker’s pods and not the doctor’s', () => {
  const objects = renderChart({ env: REQUIRED, monitoring: { enabled: true } })
  const selector = { matchLabels: spec.selector.matchLabels }
  expect(spec.template.metadata.labels).toMatchObject(selector.matchLabels)
  expect(doctor.metadata.labels).not.toMatchObject(selector.matchLabels)
  expect(objectOf('Service', objects)).toMatchObject({ spec: { selector: selector.matchLabels } })
  expect(objectOf('NetworkPolicy', objects)).toHaveProperty('spec.podSelector', selector)
  for (const kind of ['PodDisruptionBudget', 'PodMonitor'])
    expect(objectOf(kind, objects)).toHaveProperty('spec.selector', selector)
})

describe('the configuration loads', () => {
  test.each([
    ['with the least values', {}],
    [
      'with PAM, tunables, variables and all secrets',
      {
        env: { ...PAM, PAM_TEAM: '12345678', SESSION_IDLE_MINUTES: '20', STEP_UP: 'on' },
        tunables: TUNABLES,
        optionalSecrets: OPTIONAL_SECRETS,
      },
    ],
    ['with IPv6 only', { env: { HOST: '::', OPS_HOST: '::' } }],
  ])('%s, the same in broker and doctor', (_, given: { env?: object; tunables?: object }) => {
    const objects = renderChart({ ...given, env: { ...REQUIRED, ...given.env } })
    const broker = deployment.parse(objectOf('Deployment', objects)).spec.template.spec
    const tests = z.object({ spec: pod }).parse(objectOf('Pod', objects)).spec
    const environment = environmentOf(broker.containers[0])
    expect(environmentOf(tests.containers[0])).toEqual(environment)
    expect(tests.containers[0].volumeMounts).toEqual(broker.containers[0].volumeMounts)
    expect(tests.volumes).toEqual(broker.volumes)
    const config = loadConfig(environment, (path) => readMounted(path, broker, objects))
    expect(config.pam !== undefined).toBe(given.env !== undefined && 'PAM_TEAM' in given.env)
    expect(config.tunables.http.shutdownGraceMs).toBe(given.tunables === undefined ? 25_000 : 40_500)
    expect(environment).toMatchObject(given.env ?? {})
  })
})

test('a change of the tunables restarts the pods', () => {
  const checksum = (tunables: object) =>
    deployment.parse(objectOf('Deployment', renderChart({ env: REQUIRED, tunables }))).spec.template.metadata
      .annotations?.['checksum/tunables']
  expect(checksum(TUNABLES)).toHaveLength(64)
  expect(checksum({ http: { shutdownGraceMs: 30_000 } })).not.toBe(checksum(TUNABLES))
})

test('the image has the version of the package, or a tag, or a digest', () => {
  const imageOf = (image: object) =>
    deployment.parse(objectOf('Deployment', renderChart({ env: REQUIRED, image }))).spec.template.spec
      .containers[0].image
  const digest = `sha256:${'0'.repeat(64)}`
  expect(container.image).toBe(`registry.example.com/gatehouse:${packageVersion()}`)
  expect(doctor.spec.containers[0].image).toBe(container.image)
  expect(imageOf({ repository: 'r/g', tag: 'x' })).toBe('r/g:x')
  expect(imageOf({ tag: 'x', digest })).toBe(`registry.example.com/gatehouse@${digest}`)
  const [chart] = parseAllDocuments(readProject(`${CHART}/Chart.yaml`)).map((document) => document.toJS())
  expect(chart).toMatchObject({ version: packageVersion(), appVersion: packageVersion() })
})

describe('Helm refuses', () => {
  test.each([
    ['no PUBLIC_URL', { env: {} }, 'PUBLIC_URL'],
    ['a secret in env', { env: { ...REQUIRED, SECRET_KEYS: 'x' } }, "invalid propertyName 'SECRET_KEYS'"],
    ['a misspelled variable', { env: { ...REQUIRED, TRUST_PROXI: 'x' } }, "'TRUST_PROXI'"],
    [
      '`on`, which YAML reads as true',
      { env: { ...REQUIRED, STEP_UP: true } },
      "'/env/STEP_UP': got boolean, want string",
    ],
    [
      'a number, of which Helm makes 1.2345678e+07',
      { env: { ...REQUIRED, PAM_TEAM: 12_345_678 } },
      "'/env/PAM_TEAM': got number, want string",
    ],
    [
      'an Ingress and an HTTPRoute',
      { env: REQUIRED, ingress: { className: 'n' }, gateway: { name: 'g' } },
      "'not'",
    ],
    ['a misspelled value', { env: REQUIRED, replica: 2 }, "'replica' not allowed"],
    ['a digest that is none', { env: REQUIRED, image: { digest: 'sha256:1' } }, "'/image/digest'"],
  ])('%s', (_, values, message) => {
    expect(() => renderChart(values)).toThrow(message)
  })

  test('every variable that is a secret, or that the chart or the image sets, and no other', () => {
    const schema = z.object({
      properties: z.object({ env: z.object({ propertyNames: z.object({ enum: z.array(z.string()) }) }) }),
    })
    const { enum: allowed } = schema.parse(readYaml(`${CHART}/values.schema.json`)).properties.env
      .propertyNames
    const set = ['PORT', 'OPS_PORT', 'CONFIG_FILE', 'NODE_ENV', 'GIT_REVISION']
    expect(allowed).toEqual(VARIABLE_NAMES.filter((name) => !isSecret(name) && !set.includes(name)))
  })
})

test('there is no Secret, and a secret is only a path', () => {
  const objects = renderChart({ env: { ...REQUIRED, ...PAM }, optionalSecrets: OPTIONAL_SECRETS })
  expect(objects.map(({ kind }) => kind)).not.toContain('Secret')
  const { containers } = deployment.parse(objectOf('Deployment', objects)).spec.template.spec
  const names = Object.keys(environmentOf(containers[0]))
  for (const name of VARIABLE_NAMES.filter(isSecret))
    expect(names.filter((one) => one === name || one === `${name}_FILE`)).toEqual([`${name}_FILE`])
})

test('alerts and dashboard are the files of the chart, of which there is one copy', () => {
  const runbookUrl = 'https://docs.example.com/operations.md'
  const objects = renderChart({ env: REQUIRED, monitoring: { enabled: true, dashboard: true, runbookUrl } })
  const address = 'https://portal.example.com/gatehouse/docs/operations.md'
  const expected = ['alerts.yaml', 'objectives.yaml'].flatMap((name) => {
    const rules = readProject(`${CHART}/files/${name}`).replaceAll(address, runbookUrl)
    return parseAllDocuments(rules).map((document) => document.toJS())
  })
  const rules = objects.filter(({ kind }) => kind === 'PrometheusRule')
  expect(rules.map(({ spec }) => spec)).toEqual(expected)
  expect(JSON.stringify(expected)).not.toContain(address)
  const { data } = z.object({ data: labels }).parse(objectOf('ConfigMap', objects))
  expect(data['gatehouse.json']?.trim()).toBe(readProject(`${CHART}/files/dashboard.json`).trim())
  const files = readdirSync('deploy', { recursive: true, encoding: 'utf8' })
  expect(files.filter((path) => /(?:alerts|objectives)\.ya?ml$|dashboard\.json$/.test(path)).sort()).toEqual(
    ['alerts.yaml', 'dashboard.json', 'objectives.yaml'].map((name) => `helm/gatehouse/files/${name}`),
  )
})

function environmentOf({ env }: z.infer<typeof pod>['containers'][0]): Record<string, string> {
  return Object.fromEntries(env.map(({ name, value }) => [name, value ?? `${name} has no value`]))
}

/** A file as the container sees it: a key of the Secret, or of a ConfigMap. */
function readMounted(
  path: string,
  { containers, volumes }: z.infer<typeof pod>,
  objects: ReturnType<typeof renderChart>,
): string {
  const folder = path.slice(0, path.lastIndexOf('/'))
  const key = path.slice(folder.length + 1)
  const mount = containers[0].volumeMounts.find(({ mountPath }) => mountPath === folder)
  const volume = volumes.find(({ name }) => name === mount?.name)
  if (volume?.secret !== undefined) {
    expect(volume.secret).toMatchObject({ secretName: 'gatehouse' })
    if (key === 'SECRET_KEYS') return generateKey()
    if (key === 'APP_TOKENS' || key === 'OPS_TOKENS') return `portal:${generateKey()}`
    if (key === 'OTEL_EXPORTER_OTLP_HEADERS') return 'x-team=made-up'
    return key === 'REDIS_URL' ? 'redis://:made-up-password@redis:6379/0' : 'made-up-by-this-test'
  }
  const map = z.object({ metadata: z.object({ name: z.string() }), data: labels })
  const maps = objects.filter(({ kind }) => kind === 'ConfigMap').map((object) => map.parse(object))
  const source = z.object({ name: z.string() }).parse(volume?.configMap)
  return maps.find(({ metadata }) => metadata.name === source.name)?.data[key] ?? `nothing at ${path}`
}
