import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, expect, test } from '@jest/globals'
import { type Manifest, objectOf, REQUIRED, renderChart, renderUmbrella } from './render-chart.ts'

/** The packages with the published types and schemas of each group of APIs. */
const PACKAGES: Readonly<Record<string, string>> = {
  'monitoring.coreos.com': '@kubernetes-models/prometheus-operator',
  'gateway.networking.k8s.io': '@kubernetes-models/gateway-api',
}
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-objects-'))
symlinkSync(resolve('tools/deploy/node_modules'), join(folder, 'node_modules'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const pam = { PAM_BASE_URL: 'https://pam.example.net', PAM_TEAM: 'your-team' }
const everything = {
  env: { ...REQUIRED, ...pam, TRUST_PROXY: '10.0.0.0/16' },
  image: { digest: `sha256:${'0'.repeat(64)}`, pullSecrets: [{ name: 'registry' }] },
  extraEnv: [{ name: 'HTTPS_PROXY', valueFrom: { secretKeyRef: { name: 'proxy', key: 'url' } } }],
  tunables: { upstream: { authn: { maxConnections: 8 } } },
  replicas: 2,
  maxReplicas: 6,
  ingress: { className: 'nginx', tlsSecret: 'portal-tls' },
  monitoring: { enabled: true, dashboard: true, labels: { release: 'prometheus' } },
}
/** OpenShift chooses the user; its DNS, router and Prometheus are elsewhere. */
const openShift = {
  env: { ...REQUIRED, TRUST_PROXY: '10.128.0.0/14' },
  podSecurityContext: { runAsUser: null, runAsGroup: null, fsGroup: null },
  networkPolicy: {
    proxyNamespace: 'openshift-ingress',
    prometheusNamespace: 'openshift-user-workload-monitoring',
  },
  ingress: { className: 'openshift-default' },
}
const company = {
  env: {
    ...REQUIRED,
    UPSTREAM_CA_FILE: '/etc/company/ca.pem',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://otel:4318',
  },
  fullnameOverride: 'sign-in',
  image: { pullPolicy: 'Always', pullSecrets: [{ name: 'registry' }] },
  serviceAccount: { create: true, annotations: { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::1:role/x' } },
  nodeSelector: { 'kubernetes.io/arch': 'arm64' },
  tolerations: [{ key: 'dedicated', operator: 'Equal', value: 'portal', effect: 'NoSchedule' }],
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: 'pool', operator: 'In', values: ['portal'] }] }],
      },
    },
  },
  priorityClassName: 'business-critical',
  hostAliases: [{ ip: '10.1.2.3', hostnames: ['proxy.example.internal'] }],
  dnsPolicy: 'None',
  dnsConfig: { nameservers: ['10.0.0.2'], options: [{ name: 'ndots', value: '1' }] },
  podAnnotations: { 'cluster-autoscaler.kubernetes.io/safe-to-evict': 'true' },
  podLabels: { team: 'portal' },
  deploymentAnnotations: { 'reloader.stakater.com/auto': 'true' },
  deploymentLabels: { 'cost-centre': '42' },
  extraVolumes: [{ name: 'company-ca', configMap: { name: 'company-ca' } }],
  extraVolumeMounts: [{ name: 'company-ca', mountPath: '/etc/company', readOnly: true }],
  initContainers: [{ name: 'wait', image: 'registry.example.com/wait:1', command: ['wait-for-redis'] }],
  extraContainers: [{ name: 'redis-proxy', image: 'registry.example.com/redis-proxy:1' }],
  networkPolicy: {
    traces: [
      { to: [{ podSelector: { matchLabels: { app: 'otel' } } }], ports: [{ protocol: 'TCP', port: 4318 }] },
    ],
  },
  extraObjects: [
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'company-ca', labels: { release: '{{ .Release.Name }}' } },
      data: { 'ca.pem': 'plainly fake' },
    },
    'apiVersion: v1\nkind: Secret\nmetadata:\n  name: {{ include "gatehouse.fullname" . }}-extra\n',
  ],
}
const objects = [
  ...renderChart(),
  ...renderChart(everything),
  ...renderChart(openShift),
  ...renderChart(company),
  ...renderUmbrella({
    staff: company,
    partners: { env: REQUIRED, tunables: { session: { maxPerUser: 5 } } },
  }),
  ...renderChart({ env: { ...REQUIRED, HOST: '::', OPS_HOST: '::' }, gateway: { name: 'portal' } }),
]

test('every object matches the published types and schema of its kind', () => {
  expect(new Set(objects.map(({ kind }) => kind)).size).toBe(13)
  expect(problemsOf(objects)).toBe('')
})

test.each([
  ['a property that the type does not have', { spec: { selector: {}, hosts: [] } }, 'hosts'],
  ['a value that the schema refuses', { spec: { ports: [{ port: '80' }] } }, 'port'],
])('%s is reported', (_, change, message) => {
  expect(problemsOf([{ ...objectOf('Service', renderChart()), ...change }])).toContain(message)
})

test('a Prometheus rule without an expression is reported', () => {
  const rule = objects.find(({ kind }) => kind === 'PrometheusRule')
  const spec = { groups: [{ name: 'x', rules: [{ alert: 'X' }] }] }
  expect(problemsOf([{ kind: '', apiVersion: '', ...rule, spec }])).toContain('expr')
})

/**
 * One module constructs and validates each object: the compiler checks its properties, Node runs
 * its schema.
 */
function problemsOf(list: readonly Manifest[]): string {
  const lines = list.map(({ kind, apiVersion, ...rest }, at) => {
    const group = apiVersion.split('/')[0] ?? ''
    const from = `${PACKAGES[group] ?? 'kubernetes-models'}/${apiVersion}/${kind}`
    return `import { ${kind} as M${at} } from '${from}'\nnew M${at}(${JSON.stringify(rest)}).validate()`
  })
  writeFileSync(join(folder, 'objects.mjs'), lines.join('\n'))
  const options = '--noEmit --strict --skipLibCheck --ignoreConfig --allowJs --checkJs --module nodenext'
  const compile = [resolve('node_modules/.bin/tsc'), ...options.split(' '), 'objects.mjs']
  return [compile, ['objects.mjs']].map((args) => run(args)).join('')
}

function run(args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [...args], { cwd: folder, encoding: 'utf8' })
  return status === 0 ? '' : `${status} ${stdout}${stderr}`
}
