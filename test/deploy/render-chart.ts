import { spawnSync } from 'node:child_process'
import { parseAllDocuments } from 'yaml'
import { z } from 'zod'

const manifest = z.looseObject({ kind: z.string(), apiVersion: z.string() })
export type Manifest = z.infer<typeof manifest>

/** The least that an operator sets. */
export const REQUIRED = {
  PUBLIC_URL: 'https://portal.example.com',
  AUTHN_BASE_URL: 'https://org.example.net',
}

/** What Helm makes of the chart: its objects, or an error with Helm's message. */
export function renderChart(values: object = { env: REQUIRED }): Manifest[] {
  const command =
    'tools/deploy/helm.mjs template gatehouse deploy/helm/gatehouse --namespace gatehouse --values -'
  const { status, stdout, stderr } = spawnSync(process.execPath, command.split(' '), {
    input: JSON.stringify(values),
    encoding: 'utf8',
    maxBuffer: 10_000_000,
  })
  if (status !== 0) throw new Error(stderr)
  return parseAllDocuments(stdout).map((document) => {
    const [problem] = [...document.errors, ...document.warnings]
    if (problem !== undefined) throw problem
    return manifest.parse(document.toJS())
  })
}

/** The only object of this kind. */
export function objectOf(kind: string, objects: readonly Manifest[]): Manifest {
  const found = objects.filter((one) => one.kind === kind)
  const [object] = found
  if (object === undefined || found.length > 1) throw new Error(`${found.length} objects of kind ${kind}`)
  return object
}
