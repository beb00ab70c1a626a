import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { z } from 'zod'

const manifest = z.looseObject({ kind: z.string(), apiVersion: z.string() })
export type Manifest = z.infer<typeof manifest>

/** The least that an operator sets. */
export const REQUIRED = {
  PUBLIC_URL: 'https://portal.example.com',
  AUTHN_BASE_URL: 'https://org.example.net',
}

const CHART = 'deploy/helm/gatehouse'
/** Once for all charts of a file, as it starts a Node process. */
const HELM = execFileSync(process.execPath, ['tools/deploy/helm.mjs', '--path'], { encoding: 'utf8' })

/** What Helm makes of the chart: its objects, or an error with Helm's message. */
export function renderChart(values: object = { env: REQUIRED }, chart: string = CHART): Manifest[] {
  return parseAllDocuments(helm(['template', 'gatehouse', chart], values)).map((document) => {
    const [problem] = [...document.errors, ...document.warnings]
    if (problem !== undefined) throw problem
    return manifest.parse(document.toJS())
  })
}

/** What `helm install` tells the operator. */
export function notesOf(values: object): string {
  const [, notes] = helm(['install', 'gatehouse', CHART, '--dry-run=client'], values).split('\nNOTES:\n')
  if (notes === undefined) throw new Error('there are no notes')
  return notes
}

function helm(command: readonly string[], values: object): string {
  const options = ['--namespace', 'gatehouse', '--values', '-']
  const { error, status, stdout, stderr } = spawnSync(HELM, [...command, ...options], {
    input: JSON.stringify(values),
    encoding: 'utf8',
    maxBuffer: 10_000_000,
  })
  if (error !== undefined) throw error
  if (status !== 0) throw new Error(stderr)
  return stdout
}

/** The chart as a company's own chart uses it: once for each alias. */
export function renderUmbrella(valuesByAlias: Readonly<Record<string, object>>): Manifest[] {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-umbrella-'))
  try {
    cpSync(CHART, join(folder, 'charts/gatehouse'), { recursive: true })
    const dependencies = Object.keys(valuesByAlias).map((alias) => ({
      name: 'gatehouse',
      version: '*',
      repository: '',
      alias,
    }))
    const chart = { apiVersion: 'v2', name: 'portals', version: '1.0.0', dependencies }
    writeFileSync(join(folder, 'Chart.yaml'), JSON.stringify(chart))
    return renderChart(valuesByAlias, folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The only object of this kind. */
export function objectOf(kind: string, objects: readonly Manifest[]): Manifest {
  const found = objects.filter((one) => one.kind === kind)
  const [object] = found
  if (object === undefined || found.length > 1) throw new Error(`${found.length} objects of kind ${kind}`)
  return object
}
