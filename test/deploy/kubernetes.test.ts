import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, test } from '@jest/globals'
import { z } from 'zod'
import { loadConfig } from '../../src/config/load-config.ts'
import { generateKey } from '../../src/config/secret-values.ts'
import { isSecret, VARIABLE_NAMES } from '../../src/config/variables.ts'
import { imageFacts, longestStopSeconds, packageVersion, readEnvFile, readYaml } from './read-deploy.ts'

const FOLDER = 'deploy/kubernetes'
const manifest = (name: string) => readYaml(`${FOLDER}/${name}`)
const files = readdirSync(FOLDER).filter((name) => name.endsWith('.yaml'))

const probe = z.object({
  httpGet: z.object({ path: z.string(), port: z.string() }),
  periodSeconds: z.number(),
  timeoutSeconds: z.number(),
  failureThreshold: z.number(),
})
const deployment = z
  .object({
    spec: z.object({
      replicas: z.number(),
      selector: z.object({ matchLabels: z.record(z.string(), z.string()) }),
      template: z.object({
        metadata: z.object({ labels: z.record(z.string(), z.string()) }),
        spec: z.object({
          terminationGracePeriodSeconds: z.number(),
          containers: z.tuple([
            z.object({
              image: z.string(),
              envFrom: z.unknown(),
              ports: z.array(z.object({ name: z.string(), containerPort: z.number() })),
              startupProbe: probe,
              livenessProbe: probe,
              readinessProbe: probe,
              volumeMounts: z.tuple([
                z.object({ name: z.string(), mountPath: z.string(), subPath: z.never().optional() }),
              ]),
            }),
          ]),
          volumes: z.tuple([
            z.object({
              name: z.string(),
              secret: z.object({ secretName: z.string(), defaultMode: z.number() }),
            }),
          ]),
        }),
      }),
    }),
  })
  .parse(manifest('deployment.yaml')).spec
const { spec: pod } = deployment.template
const [container] = pod.containers
const [volume] = pod.volumes
const environment = readEnvFile(`${FOLDER}/gatehouse.env`)
const secret = z
  .object({ metadata: z.object({ name: z.string() }), stringData: z.record(z.string(), z.string()) })
  .parse(manifest('secret.example.yaml'))

test('the grace period exceeds the longest shutdown', () => {
  expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(longestStopSeconds())
})

test('probes call the ops listener on the pod’s address, and their timeout exceeds that of its checks', () => {
  expect(container.startupProbe.httpGet).toEqual({ path: '/livez', port: 'ops' })
  expect(container.livenessProbe.httpGet).toEqual({ path: '/livez', port: 'ops' })
  expect(container.readinessProbe.httpGet).toEqual({ path: '/readyz', port: 'ops' })
  expect(environment.OPS_HOST).toBe('0.0.0.0')
  const settings = z.object({ store: z.object({ commandTimeoutMs: z.number() }) })
  const { store } = settings.parse(readYaml('config/default.json'))
  expect(container.readinessProbe.timeoutSeconds * 1000).toBeGreaterThan(store.commandTimeoutMs)
})

test('Deployment, image, Service and NetworkPolicy use the same ports', () => {
  const ports = Object.fromEntries(
    container.ports.map(({ name, containerPort }) => [name, String(containerPort)]),
  )
  expect(ports).toEqual({ http: environment.PORT, ops: environment.OPS_PORT })
  expect(ports.http).toBe(imageFacts().port)
  expect(manifest('service.yaml')).toMatchObject({ spec: { ports: [{ targetPort: 'http' }] } })
  const policy = z
    .object({
      spec: z.object({
        ingress: z.array(
          z.object({ from: z.array(z.unknown()), ports: z.array(z.object({ port: z.unknown() })) }),
        ),
      }),
    })
    .parse(manifest('network-policy.yaml'))
  expect(policy.spec.ingress.map((rule) => rule.ports.map(({ port }) => port))).toEqual([['http'], ['ops']])
  for (const { from } of policy.spec.ingress) expect(from.length).toBeGreaterThan(0)
  expect(manifest('pod-monitor.yaml')).toMatchObject({
    spec: { podMetricsEndpoints: [{ port: 'ops', path: '/metrics' }] },
  })
})

test('all selectors match the pod labels', () => {
  const selector = { matchLabels: deployment.template.metadata.labels }
  expect(deployment.selector).toEqual(selector)
  expect(manifest('service.yaml')).toMatchObject({ spec: { selector: selector.matchLabels } })
  expect(manifest('pod-disruption-budget.yaml')).toMatchObject({ spec: { selector } })
  expect(manifest('network-policy.yaml')).toMatchObject({
    spec: { podSelector: selector, policyTypes: ['Ingress', 'Egress'] },
  })
  expect(manifest('pod-monitor.yaml')).toMatchObject({ spec: { selector } })
})

test('the configuration loads: each variable is known, and each secret is a file of the Secret', () => {
  const known = new Set(VARIABLE_NAMES.map((name) => (isSecret(name) ? `${name}_FILE` : name)))
  expect(Object.keys(environment).filter((name) => !known.has(name))).toEqual([])
  const [{ mountPath }] = container.volumeMounts
  expect(volume.secret.secretName).toBe(secret.metadata.name)
  const named = Object.entries(environment).flatMap(([name, path]) => (name.endsWith('_FILE') ? [path] : []))
  expect(named.sort()).toEqual(
    Object.keys(secret.stringData)
      .map((key) => `${mountPath}/${key}`)
      .sort(),
  )
  const contents: Record<string, string> = {
    ...Object.fromEntries(
      Object.entries(secret.stringData).map(([key, text]) => [
        key,
        text.replace('replace-with-', 'made-up-'),
      ]),
    ),
    'secret-keys': generateKey(),
  }
  const config = loadConfig(
    { ...environment, AUTHN_BASE_URL: 'https://org.example.net' },
    (path) => contents[path.slice(mountPath.length + 1)] ?? `nothing at ${path}`,
  )
  expect(config.production).toBe(true)
})

test('the example Secret has only placeholders and is not applied', () => {
  for (const value of Object.values(secret.stringData)) expect(value).toContain('replace-with-')
  const kustomization = z
    .object({
      resources: z.array(z.string()),
      images: z.tuple([z.object({ name: z.string(), newTag: z.string() })]),
    })
    .parse(manifest('kustomization.yaml'))
  const notApplied = ['kustomization.yaml', 'pod-monitor.yaml', 'secret.example.yaml', 'secret.yaml']
  expect([...kustomization.resources].sort()).toEqual(
    files.filter((name) => !notApplied.includes(name)).sort(),
  )
  const [{ name, newTag }] = kustomization.images
  expect([`${name}:${newTag}`, newTag]).toEqual([container.image, packageVersion()])
})

test('every manifest matches the Kubernetes types', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-manifests-'))
  const TYPES: Readonly<Record<string, string>> = {
    ...{ CronJob: 'batch/v1', Deployment: 'apps/v1', PodDisruptionBudget: 'policy/v1' },
    ...{ Service: 'core/v1', Secret: 'core/v1', Namespace: 'core/v1', NetworkPolicy: 'networking/v1' },
  }
  const lines = files
    .filter((name) => !['kustomization.yaml', 'pod-monitor.yaml', 'secret.yaml'].includes(name))
    .map(manifest)
    .map((object, at) => {
      const { kind } = z.object({ kind: z.string() }).parse(object)
      return `export const o${at}: import('kubernetes-types/${TYPES[kind]}.js').${kind} = ${JSON.stringify(object)}`
    })
  expect(lines.length).toBeGreaterThan(5)
  writeFileSync(join(folder, 'manifests.ts'), lines.join('\n'))
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
  const options = '--noEmit --strict --skipLibCheck --ignoreConfig --module nodenext --types'.split(' ')
  const { stdout, status } = spawnSync(resolve('node_modules/.bin/tsc'), [...options, '', 'manifests.ts'], {
    ...{ cwd: folder, encoding: 'utf8' },
  })
  rmSync(folder, { recursive: true, force: true })
  expect([stdout, status]).toEqual(['', 0])
})
