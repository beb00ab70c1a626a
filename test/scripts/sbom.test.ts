import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test } from '@jest/globals'
import { productionBom, productionPackages } from '../../scripts/production-bom.ts'

const root = new URL('../../', import.meta.url)
const readJson = (path: string) => JSON.parse(readFileSync(new URL(path, root), 'utf8'))

test('npm run sbom lists all production packages with licence and hash, and nothing about this machine', async () => {
  await promisify(execFile)('npm', ['run', '--silent', 'sbom'], { cwd: fileURLToPath(root) })
  const text = readFileSync(new URL('build/sbom.cdx.json', root), 'utf8')
  const bom = JSON.parse(text)

  expect(bom).toMatchObject({ bomFormat: 'CycloneDX', specVersion: expect.stringMatching(/^1\.\d$/) })
  expect(bom.metadata.component).toMatchObject({ name: 'gatehouse', type: 'application' })
  const listed = bom.components.map(({ name, version }: Record<string, string>) => `${name}@${version}`)
  expect(listed.sort()).toEqual([...productionPackages(readJson('package-lock.json'))].sort())
  expect(listed.length).toBeGreaterThan(50)
  for (const { name, licenses, hashes, purl } of bom.components) {
    expect([name, licenses?.length, hashes?.length]).toEqual([name, 1, 1])
    expect(purl).toMatch(/^pkg:npm\/[^?]+$/)
  }

  const { dependencies, devDependencies } = readJson('package.json')
  const named = bom.components.map(({ name }: Record<string, string>) => name)
  expect(named).toEqual(expect.arrayContaining(Object.keys(dependencies)))
  expect(named.filter((name: string) => name in devDependencies)).toEqual([])
  expect(text).not.toContain(fileURLToPath(root))
  expect(text.match(/"(?:https?|git|file):[^"]*/g)).toEqual([
    '"http://cyclonedx.org/schema/bom-1.5.schema.json',
  ])
})

describe('what production needs', () => {
  const component = (name: string, version: string) => ({ 'bom-ref': `${name}@${version}`, name, version })
  const everything = {
    bomFormat: 'CycloneDX',
    metadata: { component: { 'bom-ref': 'app@1.0.0', name: 'some-folder', type: 'library' } },
    components: [
      component('web', '1.0.0'),
      component('shared', '2.0.0'),
      component('linter', '3.0.0'),
      component('workspace', '4.0.0'),
    ],
    dependencies: [
      { ref: 'app@1.0.0', dependsOn: ['workspace@4.0.0', 'web@1.0.0', 'linter@3.0.0', 'shared@2.0.0'] },
      { ref: 'web@1.0.0', dependsOn: ['shared@2.0.0'] },
      { ref: 'linter@3.0.0', dependsOn: ['shared@2.0.0'] },
      { ref: 'shared@2.0.0', dependsOn: [] },
    ],
  }
  const lock = {
    packages: {
      '': {
        name: 'app',
        version: '1.0.0',
        dependencies: { web: '1' },
        devDependencies: { linter: '3', shared: '2' },
      },
      'node_modules/web': { version: '1.0.0' },
      'node_modules/shared': { version: '2.0.0' },
      'node_modules/linter': { version: '3.0.0', dev: true },
      'workspace-folder': { name: 'workspace', version: '4.0.0' },
      'node_modules/workspace': { resolved: 'workspace-folder', link: true },
    },
  }

  test('keeps packages that production needs too, and omits workspaces and those that only development packages need', () => {
    expect(productionBom(everything, lock)).toMatchObject({
      metadata: { component: { name: 'app', type: 'application' } },
      components: [component('web', '1.0.0'), component('shared', '2.0.0')],
      dependencies: [
        { ref: 'app@1.0.0', dependsOn: ['web@1.0.0'] },
        { ref: 'web@1.0.0', dependsOn: ['shared@2.0.0'] },
        { ref: 'shared@2.0.0', dependsOn: [] },
      ],
    })
  })

  test('throws if a production package is missing', () => {
    const short = { ...everything, components: everything.components.slice(0, 1) }
    expect(() => productionBom(short, lock)).toThrow(
      "1 production packages are not in npm's bill of materials",
    )
  })
})
