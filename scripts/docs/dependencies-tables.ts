import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { inCell, markdownTable } from './markdown.ts'

const TEXT = z.string().min(1)
const REVIEWED = { name: TEXT, version: TEXT, advisories: TEXT }

/** docs/dependencies.json: every package that runs in production, in the version that was looked up. */
const REVIEW = z.strictObject({
  direct: z.array(z.strictObject({ ...REVIEWED, purpose: TEXT })),
  /** Indirect dependencies that process input from outside. */
  exposed: z.array(z.strictObject({ ...REVIEWED, usedBy: TEXT })),
  /** The other indirect dependencies; each package as `name version`. */
  groups: z.array(z.strictObject({ group: TEXT, packages: z.array(TEXT).min(1), advisories: TEXT })),
})

export type DependencyReview = z.infer<typeof REVIEW>

export function readDependencyReview(file = 'docs/dependencies.json'): DependencyReview {
  return REVIEW.parse(JSON.parse(readFileSync(file, 'utf8')))
}

export function directTable({ direct }: DependencyReview): string {
  const rows = direct.map(({ name, version, purpose, advisories }) => [name, version, purpose, advisories])
  return markdownTable(['package', 'version', 'purpose', 'known advisories'], rows)
}

export function exposedTable({ exposed }: DependencyReview): string {
  const rows = exposed.map(({ name, version, usedBy, advisories }) => [name, version, usedBy, advisories])
  return markdownTable(['package', 'version', 'used by', 'known advisories'], rows)
}

export function groupsTable({ groups }: DependencyReview): string {
  const rows = groups.map(({ group, packages, advisories }) => [
    group,
    inCell(packages.join(', ')),
    advisories,
  ])
  return markdownTable(['group', 'packages', 'known advisories'], rows)
}
