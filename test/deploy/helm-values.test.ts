import { describe, expect, test } from '@jest/globals'
import { z } from 'zod'
import { type Manifest, notesOf, objectOf, REQUIRED, renderChart, renderUmbrella } from './render-chart.ts'

/** What companies set for their clusters, as it arrives in the objects. */

const record = z.record(z.string(), z.unknown())
const pod = z.looseObject({
  securityContext: record,
  volumes: z.array(z.looseObject({ name: z.string() })),
  containers: z.array(z.looseObject({ name: z.string(), image: z.string(), securityContext: record })).min(1),
})
const deployment = z.looseObject({
  metadata: z.looseObject({ name: z.string(), labels: record, annotations: record.optional() }),
  spec: z.looseObject({
    selector: z.object({ matchLabels: record }),
    template: z.object({ metadata: z.object({ labels: record, annotations: record.optional() }), spec: pod }),
  }),
})
const doctorPod = z.looseObject({ metadata: z.looseObject({ name: z.string(), labels: record }), spec: pod })
const nameOf = ({ metadata }: Manifest) => z.looseObject({ name: z.string() }).parse(metadata).name

function render(values: object) {
  const objects = renderChart({ env: REQUIRED, ...values })
  const broker = deployment.parse(objectOf('Deployment', objects))
  const doctor = doctorPod.parse(objectOf('Pod', objects))
  return { objects, broker, pods: [broker.spec.template.spec, doctor.spec] }
}

test.each<[string, object]>([
  ['nodeSelector', { disk: 'ssd' }],
  ['tolerations', [{ operator: 'Exists' }]],
  ['affinity', { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } }],
  ['hostAliases', [{ ip: '10.1.2.3', hostnames: ['a.example'] }]],
  ['dnsConfig', { options: [{ name: 'ndots', value: '1' }] }],
  ['initContainers', [{ name: 'first', image: 'x' }]],
])('%s is that of the broker’s pods and of the doctor’s', (name, value) => {
  for (const spec of render({ [name]: value }).pods) expect(spec[name]).toEqual(value)
  for (const spec of render({}).pods) expect(spec).not.toHaveProperty(name)
})

test.each(['priorityClassName', 'dnsPolicy'])('%s is a text, and absent by default', (name) => {
  for (const spec of render({ [name]: 'Default' }).pods) expect(spec[name]).toBe('Default')
  for (const spec of render({}).pods) expect(spec).not.toHaveProperty(name)
})

test('OpenShift chooses the user: a null removes an id, and all else stays restricted', () => {
  const nulls = { podSecurityContext: { runAsUser: null, runAsGroup: null, fsGroup: null } }
  const restricted = { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } }
  for (const spec of render(nulls).pods) {
    expect(spec.securityContext).toEqual(restricted)
    expect(spec.containers[0]?.securityContext).toMatchObject({ allowPrivilegeEscalation: false })
  }
  const inUmbrella = renderUmbrella({ portal: { env: REQUIRED, ...nulls } })
  expect(deployment.parse(objectOf('Deployment', inUmbrella)).spec.template.spec.securityContext).toEqual(
    restricted,
  )
})

test('volumes, mounts and containers are added to those of the chart; sidecars would keep the doctor from ending', () => {
  const { pods } = render({
    tunables: { session: { maxPerUser: 5 } },
    extraVolumes: [{ name: 'ca', configMap: { name: 'ca' } }],
    extraVolumeMounts: [{ name: 'ca', mountPath: '/etc/ca' }],
    extraContainers: [{ name: 'beside', image: 'x', securityContext: {} }],
  })
  for (const { volumes, containers } of pods) {
    expect(volumes.map(({ name }) => name)).toEqual(['secrets', 'tunables', 'ca'])
    expect(containers[0]?.volumeMounts).toContainEqual({ name: 'ca', mountPath: '/etc/ca' })
  }
  expect(pods.map(({ containers }) => containers.map(({ name }) => name))).toEqual([
    ['gatehouse', 'beside'],
    ['doctor'],
  ])
})

test('annotations and labels are added; those by which the pods are selected stay', () => {
  const { broker } = render({
    tunables: { session: { maxPerUser: 5 } },
    podAnnotations: { a: '1' },
    podLabels: { b: '2', 'app.kubernetes.io/name': 'other' },
    deploymentAnnotations: { c: '3' },
    deploymentLabels: { d: '4' },
  })
  const { metadata, spec } = broker
  expect(Object.keys(spec.template.metadata.annotations ?? {})).toEqual(['checksum/tunables', 'a'])
  expect(spec.template.metadata.labels).toMatchObject({ b: '2', ...spec.selector.matchLabels })
  expect(spec.selector.matchLabels).toEqual({
    'app.kubernetes.io/name': 'gatehouse',
    'app.kubernetes.io/instance': 'gatehouse',
  })
  expect([metadata.annotations, metadata.labels.d]).toEqual([{ c: '3' }, '4'])
})

describe('the service account', () => {
  const accountOf = (serviceAccount: object) => {
    const { objects, pods } = render({ serviceAccount })
    for (const spec of pods) expect(spec.automountServiceAccountToken).toBe(false)
    const created = objects.filter(({ kind }) => kind === 'ServiceAccount')
    return [pods.map(({ serviceAccountName }) => serviceAccountName), created.map(nameOf)]
  }
  test.each<[string, object, unknown[]]>([
    ['is the default one', {}, [[undefined, undefined], []]],
    ['is created', { create: true }, [['gatehouse', 'gatehouse'], ['gatehouse']]],
    ['is created with a name', { create: true, name: 'own' }, [['own', 'own'], ['own']]],
    ['exists', { name: 'own' }, [['own', 'own'], []]],
  ])('%s', (_, serviceAccount, expected) => {
    expect(accountOf(serviceAccount)).toEqual(expected)
  })
})

test('the pull policy of the image is set if it is given', () => {
  const policyOf = (image: object) =>
    render({ image }).pods.map(({ containers }) => containers[0]?.imagePullPolicy)
  expect(policyOf({ pullPolicy: 'Always' })).toEqual(['Always', 'Always'])
  expect(policyOf({})).toEqual([undefined, undefined])
})

test('two aliases in an umbrella chart have no name in common, and neither Service has the other’s pods', () => {
  const values = { env: REQUIRED, tunables: { session: { maxPerUser: 5 } }, serviceAccount: { create: true } }
  const objects = renderUmbrella({ staff: values, partners: { ...values, fullnameOverride: 'outside' } })
  const ids = objects.map((object) => `${object.kind} ${nameOf(object)}`)
  expect(new Set(ids).size).toBe(ids.length)
  const names = (kind: string) =>
    objects
      .filter((object) => object.kind === kind)
      .map(nameOf)
      .sort()
  expect(names('Deployment')).toEqual(['gatehouse-staff', 'outside'])
  const selectors = objects
    .filter(({ kind }) => kind === 'Service')
    .map(({ spec }) => z.looseObject({ selector: record }).parse(spec).selector)
  for (const deployed of objects.filter(({ kind }) => kind === 'Deployment')) {
    const { labels } = deployment.parse(deployed).spec.template.metadata
    const matching = selectors.filter((selector) =>
      Object.entries(selector).every(([name, value]) => labels[name] === value),
    )
    expect(matching).toHaveLength(1)
  }
})

test('the name of all objects can be set, and every reference follows', () => {
  const company = { fullnameOverride: 'sign-in', tunables: { session: { maxPerUser: 5 } } }
  const { objects, pods } = render({
    ...company,
    maxReplicas: 6,
    gateway: { name: 'portal' },
    monitoring: { enabled: true, dashboard: true },
  })
  for (const object of objects)
    expect(nameOf(object)).toMatch(/^sign-in(-tunables|-dashboard|-doctor|-objectives)?$/)
  expect(JSON.stringify(objects)).not.toContain('"app.kubernetes.io/instance":"gatehouse"')
  const own = { name: 'sign-in' }
  expect(objectOf('HorizontalPodAutoscaler', objects)).toMatchObject({ spec: { scaleTargetRef: own } })
  expect(objectOf('HTTPRoute', objects)).toMatchObject({ spec: { rules: [{ backendRefs: [own] }] } })
  const ingress = objectOf('Ingress', render({ ...company, ingress: { className: 'nginx' } }).objects)
  expect(JSON.stringify(ingress.spec)).toContain('"service":{"name":"sign-in","port"')
  for (const spec of pods)
    expect(spec.volumes).toContainEqual({ name: 'tunables', configMap: { name: 'sign-in-tunables' } })
})

test('further objects are maps or texts, in which templates are filled in', () => {
  const extraObjects = [
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: '{{ .Release.Name }}-a' } },
    'apiVersion: v1\nkind: Secret\nmetadata: { name: {{ include "gatehouse.fullname" . }}-b }',
  ]
  const found = render({ extraObjects }).objects.filter(({ kind }) => kind === 'Secret')
  expect(found.map(nameOf)).toEqual(['gatehouse-a', 'gatehouse-b'])
})

describe('Helm refuses', () => {
  test.each([
    ['a number as an annotation', { podAnnotations: { a: 1 } }, "'/podAnnotations/a'"],
    ['a name that is too long', { fullnameOverride: 'a'.repeat(53) }, "'/fullnameOverride'"],
    ['a pull policy that does not exist', { image: { pullPolicy: 'Sometimes' } }, "'/image/pullPolicy'"],
  ])('%s', (_, values, message) => {
    expect(() => render(values)).toThrow(message)
  })
})

test('the notes say which DNS is allowed, and that a trace collector is not, unless there is a rule', () => {
  const env = { ...REQUIRED, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://otel:4318' }
  const traces = [{ ports: [{ protocol: 'TCP', port: 4318 }] }]
  const NO_TRACES = 'set networkPolicy.traces, or no trace arrives'
  expect(notesOf({ env })).toContain(NO_TRACES)
  const allowed = notesOf({ env, networkPolicy: { traces } })
  expect(allowed).toContain('set networkPolicy.dns')
  expect(allowed).not.toContain(NO_TRACES)
  expect(notesOf({ env, networkPolicy: { enabled: false } })).not.toContain('networkPolicy')
})
