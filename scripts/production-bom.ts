import { z } from 'zod'

/**
 * The production part of npm's bill of materials. `npm sbom --omit dev` cannot be used, because it omits packages that a
 * development package needs too (npm/cli issue 7909). So npm lists all packages, and the lock file, in which npm marks
 * development packages, decides which are kept.
 */
const Bom = z.looseObject({
  bomFormat: z.literal('CycloneDX'),
  metadata: z.looseObject({ component: z.looseObject({ 'bom-ref': z.string() }) }),
  components: z.array(z.looseObject({ 'bom-ref': z.string(), name: z.string(), version: z.string() })),
  dependencies: z.array(z.looseObject({ ref: z.string(), dependsOn: z.array(z.string()) })),
})
export type Bom = z.infer<typeof Bom>

const Lock = z.object({
  packages: z.record(
    z.string(),
    z.looseObject({
      /** Missing for the link of a workspace. */
      version: z.string().optional(),
      name: z.string().optional(),
      dev: z.boolean().optional(),
      devOptional: z.boolean().optional(),
      /** Only the sandbox needs it. */
      optional: z.boolean().optional(),
      dependencies: z.record(z.string(), z.string()).optional(),
    }),
  ),
})

/** Throws if a production package of the lock file is missing from the bill of materials. */
export function productionBom(bomJson: unknown, lockJson: unknown): Bom {
  const bom = Bom.parse(bomJson)
  const { packages } = Lock.parse(lockJson)
  const root = packages['']
  if (root === undefined) throw new Error('package-lock.json has no root')
  const wanted = productionPackages(lockJson)
  const components = bom.components.filter(({ name, version }) => wanted.has(`${name}@${version}`))
  const missing = wanted.size - components.length
  if (missing !== 0) throw new Error(`${missing} production packages are not in npm's bill of materials`)

  const application = bom.metadata.component
  const direct = Object.keys(root.dependencies ?? {})
  const kept = new Map(components.map((component) => [component['bom-ref'], component.name]))
  return {
    ...bom,
    // npm names the root after its folder
    metadata: { ...bom.metadata, component: { ...application, type: 'application', name: root.name } },
    components,
    dependencies: bom.dependencies.flatMap(({ ref, dependsOn, ...rest }) => {
      const left = dependsOn.filter((other) => kept.has(other))
      if (kept.has(ref)) return [{ ...rest, ref, dependsOn: left }]
      if (ref !== application['bom-ref']) return []
      return [{ ...rest, ref, dependsOn: left.filter((other) => direct.includes(kept.get(other) ?? '')) }]
    }),
  }
}

/** `name@version` of all production packages. */
export function productionPackages(lockJson: unknown): Set<string> {
  const { packages } = Lock.parse(lockJson)
  return new Set(
    Object.entries(packages)
      .filter(([place]) => place.startsWith('node_modules/')) // not the project and its workspaces
      .filter(([, { version, dev, devOptional, optional }]) => version && !dev && !devOptional && !optional)
      .map(([place, { name, version }]) => `${name ?? place.replace(/^.*node_modules\//, '')}@${version}`),
  )
}
