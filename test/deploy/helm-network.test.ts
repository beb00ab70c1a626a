import { BlockList } from 'node:net'
import { describe, expect, test } from '@jest/globals'
import { parseAllDocuments } from 'yaml'
import { z } from 'zod'
import { readProject } from './read-deploy.ts'
import { objectOf, REQUIRED, renderChart } from './render-chart.ts'

const ports = z.array(z.object({ protocol: z.string(), port: z.unknown() }))
const block = z.object({ cidr: z.string(), except: z.array(z.string()).default([]) })
const policy = z.object({
  spec: z.object({
    policyTypes: z.tuple([z.literal('Ingress'), z.literal('Egress')]),
    ingress: z.array(z.object({ from: z.array(z.unknown()).min(1), ports })),
    egress: z.array(z.object({ to: z.array(z.looseObject({ ipBlock: block.optional() })).min(1), ports })),
  }),
})
const policyOf = (values: object) =>
  policy.parse(objectOf('NetworkPolicy', renderChart({ env: REQUIRED, ...values }))).spec
const { ingress, egress } = policyOf({})
const namespace = (name: string) => ({
  namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } },
})

describe('the NetworkPolicy', () => {
  test('lets only the proxy reach the public listener, and only Prometheus the ops listener', () => {
    const prometheus = { podSelector: { matchLabels: { 'app.kubernetes.io/name': 'prometheus' } } }
    const rules = (proxy: string, monitoring: string) => [
      { from: [namespace(proxy)], ports: [{ protocol: 'TCP', port: 'http' }] },
      { from: [{ ...namespace(monitoring), ...prometheus }], ports: [{ protocol: 'TCP', port: 'ops' }] },
    ]
    expect(ingress).toEqual(rules('ingress-nginx', 'monitoring'))
    const other = policyOf({ networkPolicy: { proxyNamespace: 'gateways', prometheusNamespace: 'watch' } })
    expect(other.ingress).toEqual(rules('gateways', 'watch'))
  })

  test('lets the broker reach DNS over UDP and TCP, Redis, and Okta on port 443', () => {
    expect(egress.map((rule) => rule.ports.map(({ protocol, port }) => `${protocol} ${port}`))).toEqual([
      ['UDP 53', 'TCP 53'],
      ['UDP 5353', 'TCP 5353'],
      ['TCP 6379'],
      ['TCP 443'],
    ])
  })

  test.each([
    ...['203.0.113.7', '2001:db8::7', '64:ff9b::cb00:7107'].map((address) => [address, true] as const),
    ...['10.1.2.3', '172.31.0.1', '192.168.0.1', '169.254.169.254', '100.64.0.1'].map(
      (address) => [address, false] as const,
    ),
    ...['fd00:ec2::254', 'fe80::1', 'fc00::1'].map((address) => [address, false] as const),
  ])('%s is allowed as an address of Okta: %s', (address, isAllowed) => {
    const blocks = egress.flatMap(({ to }) => to.flatMap(({ ipBlock }) => ipBlock ?? []))
    const isIn = (cidrs: string[]) => cidrs.some((cidr) => contains(cidr, address))
    expect(blocks.some(({ cidr, except }) => isIn([cidr]) && !isIn(except))).toBe(isAllowed)
  })

  test('takes other rules for Redis and upstreams', () => {
    const rule = (cidr: string, port: number) => [
      { to: [{ ipBlock: { cidr } }], ports: [{ protocol: 'TCP', port }] },
    ]
    const redis = rule('10.1.0.0/28', 6380)
    const upstreams = rule('10.2.0.1/32', 3128)
    const rules = policyOf({ networkPolicy: { redis, upstreams } }).egress
    expect(rules.slice(2)).toMatchObject([...redis, ...upstreams])
  })

  test('lets the broker reach kube-dns, NodeLocal DNS and OpenShift’s DNS, or other servers, and a trace collector', () => {
    const pods = (name: string, labels: object) => ({
      ...namespace(name),
      podSelector: { matchLabels: labels },
    })
    expect(egress.slice(0, 2).map(({ to }) => to)).toEqual([
      [pods('kube-system', { 'k8s-app': 'kube-dns' }), { ipBlock: { cidr: '169.254.20.10/32', except: [] } }],
      [pods('openshift-dns', { 'dns.operator.openshift.io/daemonset-dns': 'default' })],
    ])
    const dns = [{ to: [{ ipBlock: { cidr: '10.0.0.2/32' } }], ports: [{ protocol: 'UDP', port: 53 }] }]
    const traces = [{ to: [namespace('observability')], ports: [{ protocol: 'TCP', port: 4318 }] }]
    const rules = policyOf({ networkPolicy: { dns, traces } }).egress
    expect(rules.slice(0, 1)).toMatchObject(dns)
    expect(rules.at(-1)).toEqual(traces[0])
    expect(rules).toHaveLength(4)
  })

  test('is not there if it is off', () => {
    const kinds = renderChart({ env: REQUIRED, networkPolicy: { enabled: false } }).map(({ kind }) => kind)
    expect([kinds.includes('NetworkPolicy'), kinds.includes('Deployment')]).toEqual([false, true])
  })
})

describe('a route leads the paths of deploy/proxies/gateway-api.yaml to the Service', () => {
  const [example] = parseAllDocuments(readProject('deploy/proxies/gateway-api.yaml')).map((one) => one.toJS())
  const matches = z.array(z.object({ path: z.object({ type: z.string(), value: z.string() }) }))
  const route = z.object({
    spec: z.object({
      parentRefs: z.unknown(),
      hostnames: z.array(z.string()),
      rules: z.array(
        z
          .object({ matches, timeouts: z.unknown(), backendRefs: z.unknown() })
          .partial({ matches: true, timeouts: true }),
      ),
    }),
  })
  const [own] = route.parse(example).spec.rules
  const paths = own?.matches
    ?.map(({ path }) => `${path.type.replace('PathPrefix', 'Prefix')} ${path.value}`)
    .sort()
  const env = { ...REQUIRED, PUBLIC_URL: 'https://sign-in.example.com:8443' }

  test('an HTTPRoute', () => {
    const objects = renderChart({ env, gateway: { name: 'portal', namespace: 'gateways' } })
    const { spec } = route.parse(objectOf('HTTPRoute', objects))
    expect(spec).toMatchObject({
      parentRefs: [{ name: 'portal', namespace: 'gateways' }],
      hostnames: ['sign-in.example.com'],
      rules: [{ timeouts: own?.timeouts, backendRefs: own?.backendRefs }],
    })
    const found = spec.rules[0]?.matches?.map(
      ({ path }) => `${path.type.replace('PathPrefix', 'Prefix')} ${path.value}`,
    )
    expect(found?.sort()).toEqual(paths)
    expect(objects.map(({ kind }) => kind)).not.toContain('Ingress')
  })

  test('an Ingress, with the annotations of ingress-nginx', () => {
    const annotations = { 'nginx.ingress.kubernetes.io/proxy-read-timeout': '70', other: 'x' }
    const values = { env, ingress: { className: 'nginx', tlsSecret: 'portal-tls', annotations } }
    const objects = renderChart(values)
    const ingress = objectOf('Ingress', objects)
    const path = z.object({ path: z.string(), pathType: z.string(), backend: z.unknown() })
    const rule = z.object({ host: z.string(), http: z.object({ paths: z.array(path) }) })
    const { spec } = z.object({ spec: z.looseObject({ rules: z.tuple([rule]) }) }).parse(ingress)
    expect(spec).toMatchObject({ ingressClassName: 'nginx', tls: [{ secretName: 'portal-tls' }] })
    expect(spec.rules[0].host).toBe('sign-in.example.com')
    expect(spec.rules[0].http.paths.map((one) => `${one.pathType} ${one.path}`).sort()).toEqual(paths)
    for (const { backend } of spec.rules[0].http.paths)
      expect(backend).toEqual({ service: { name: 'gatehouse', port: { name: 'http' } } })
    expect(ingress.metadata).toMatchObject({
      annotations: { ...annotations, 'nginx.ingress.kubernetes.io/proxy-body-size': '1m' },
    })
    expect(objects.map(({ kind }) => kind)).not.toContain('HTTPRoute')
  })
})

test('more maxReplicas than replicas make an autoscaler, which the Deployment leaves the number to', () => {
  const objects = renderChart({ env: REQUIRED, replicas: 2, maxReplicas: 5 })
  expect(objectOf('HorizontalPodAutoscaler', objects)).toMatchObject({
    spec: { minReplicas: 2, maxReplicas: 5, scaleTargetRef: { kind: 'Deployment', name: 'gatehouse' } },
  })
  expect(objectOf('Deployment', objects)).not.toHaveProperty('spec.replicas')
  const fixed = renderChart({ env: REQUIRED, replicas: 5, maxReplicas: 3 })
  expect(fixed.map(({ kind }) => kind)).not.toContain('HorizontalPodAutoscaler')
  expect(objectOf('Deployment', fixed)).toHaveProperty('spec.replicas', 5)
})

function contains(cidr: string, address: string): boolean {
  const family = (text: string) => (text.includes(':') ? 'ipv6' : 'ipv4')
  const [network = '', bits] = cidr.split('/')
  const list = new BlockList()
  list.addSubnet(network, Number(bits), family(network))
  return family(network) === family(address) && list.check(address, family(address))
}
