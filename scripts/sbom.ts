import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { productionBom } from './production-bom.ts'

/**
 * `npm run sbom`: writes build/sbom.cdx.json, the software bill of materials (CycloneDX) of what runs in production.
 * Made from the lock file only, without network access, and without information about this machine.
 */
const FILE = 'build/sbom.cdx.json'
const EVERYTHING = ['sbom', '--sbom-format', 'cyclonedx', '--sbom-type', 'application', '--package-lock-only']

const everything = execFileSync('npm', [...EVERYTHING, '--offline'], {
  encoding: 'utf8',
  maxBuffer: 64 * 1024 * 1024,
  stdio: ['ignore', 'pipe', 'ignore'],
})
const bom = productionBom(JSON.parse(everything), JSON.parse(readFileSync('package-lock.json', 'utf8')))
mkdirSync('build', { recursive: true })
writeFileSync(FILE, `${JSON.stringify(bom, null, 2)}\n`)
console.log(`${FILE} is written: ${bom.components.length} packages.`)
