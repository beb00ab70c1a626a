/**
 * `npm run image:check`: builds the image without Docker (in a temporary folder, with the image's Node version if the
 * registry has it), checks its files, starts it as its user, and stops it. It interprets the Dockerfile and the
 * .dockerignore; an unsupported instruction is an error. Then the same for the sandbox's image.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildStages } from './image/build-stages.mjs'
import { checkSandboxImage } from './image/check-sandbox-image.mjs'
import { readDockerfile, readDockerignore } from './image/read-dockerfile.mjs'

const MAX_MEGABYTES = 60
const START_MS = 20_000

const project = fileURLToPath(new URL('..', import.meta.url))
const read = (path) => readFileSync(join(project, path), 'utf8')
const work = mkdtempSync(join(tmpdir(), 'gatehouse-image-'))
/** A valid configuration; nothing listens at these addresses. */
const VALID_CONFIG = {
  PUBLIC_URL: 'https://portal.example.com',
  AUTHN_BASE_URL: 'https://org.example.net',
  AUTHN_API_TOKEN: 'made-up-api-token',
  REDIS_URL: 'redis://127.0.0.1:1/0',
  SECRET_KEYS: randomBytes(32).toString('base64'),
}
const failures = []
const children = new Set()

try {
  chmodSync(work, 0o755) // the image's user is not the current user
  await main()
} finally {
  for (const child of children) child.kill('SIGKILL')
  rmSync(work, { recursive: true, force: true })
}
console.log(failures.length === 0 ? '\nAll checks passed.' : `\n${failures.length} checks failed.`)
process.exitCode = failures.length === 0 ? 0 : 1

async function main() {
  const stages = readDockerfile(read('Dockerfile'))
  const node = nodeOf(stages.at(-1).image)
  check(`the stages are all of ${stages[0].image}`, new Set(stages.map(({ image }) => image)).size === 1)
  const image = buildStages({
    stages,
    project,
    isIncluded: readDockerignore(read('.dockerignore')),
    into: work,
    path: `${node.folder}${delimiter}${process.env.PATH}`,
  })
  checkContent(join(image.root, image.workdir))
  checkConfiguration(image, node)
  await checkRun(image, node)
  await checkSandboxImage({ read, project, work, node, runOptions, children, check })
}

/** The image's Node version from the registry, in a folder for PATH. Falls back to the current Node and reports it. */
function nodeOf(imageName) {
  const folder = join(work, 'bin')
  mkdirSync(folder)
  const major = /^node:(\d+)/.exec(imageName)?.[1]
  if (major === undefined) throw new Error(`Dockerfile: FROM ${imageName} is not a node image`)
  const path = process.version.startsWith(`v${major}.`) ? process.execPath : installedNode(major)
  symlinkSync(path ?? process.execPath, join(folder, 'node'))
  const version = execFileSync(join(folder, 'node'), ['--version'], { encoding: 'utf8' }).trim()
  console.log(`        Node ${version}${path === undefined ? `, as the registry has no Node ${major}` : ''}`)
  return { folder }
}

function installedNode(major) {
  const home = join(work, 'node')
  mkdirSync(home)
  spawnSync('npm', ['install', '--prefix', home, '--no-save', '--no-audit', `node@${major}`], { cwd: home })
  const path = join(home, 'node_modules', 'node', 'bin', 'node')
  const isThere = existsSync(path) && spawnSync(path, ['--version']).status === 0
  return isThere ? path : undefined
}

function checkContent(app) {
  const files = filesIn(app)
  const own = files.filter((path) => !path.startsWith('node_modules/'))
  check(
    'besides packages, there are only package.json, the licence, config/default.json and compiled JavaScript',
    own.filter((path) => !/^(package\.json|LICENSE|config\/default\.json|dist\/.+\.js(\.map)?)$/.test(path)),
  )
  check(
    'there is no sandbox, demo, test or benchmark',
    own.filter((path) => /(^|\/)(sandbox|sandbox-package|demo|tests?|bench|scripts)(\/|\.)/.test(path)),
  )
  const { packages } = JSON.parse(read('package-lock.json'))
  // not the project and its workspaces
  const locked = Object.entries(packages).filter(
    ([path, { link }]) => path.startsWith('node_modules/') && !link,
  )
  check(
    'there is no development or optional package',
    locked
      .filter(
        ([path, { dev, optional, devOptional }]) =>
          (dev || optional || devOptional) && existsSync(join(app, path)),
      )
      .map(([path]) => path),
  )
  check(
    'all production packages are installed',
    locked
      .filter(
        ([path, { dev, optional, devOptional, peer }]) =>
          !(dev || optional || devOptional || peer) && !existsSync(join(app, path)),
      )
      .map(([path]) => path),
  )
  const megabytes = files.reduce((sum, path) => sum + statSync(join(app, path)).size, 0) / 1e6
  check(
    `${files.length} files, ${megabytes.toFixed(1)} MB without Node; at most ${MAX_MEGABYTES}`,
    megabytes <= MAX_MEGABYTES,
  )
}

function checkConfiguration(image, node) {
  const [, ...args] = image.command
  const run = (env, argument = '--check-config') =>
    spawnSync(join(node.folder, 'node'), [...args, argument], runOptions(image, env)).status
  check('--check-config: a valid configuration exits with 0', run(VALID_CONFIG) === 0)
  check('--check-config: no configuration exits with 78', run({}) === 78)
  check('--doctor: nothing around the broker exits with 1', run(VALID_CONFIG, '--doctor') === 1)
}

/** Without Redis and Okta, which are not needed to start. */
async function checkRun(image, node) {
  const [command, ...args] = image.command
  check('the command is node', command === 'node')
  const options = runOptions(image, { ...VALID_CONFIG, PORT: '0', OPS_PORT: '0', OPS_HOST: '127.0.0.1' })
  const child = spawn(join(node.folder, 'node'), args, options)
  children.add(child)
  const exited = once(child, 'exit')
  const output = { text: '' }
  child.stdout.on('data', (chunk) => {
    output.text += chunk
  })
  child.stderr.on('data', (chunk) => {
    output.text += chunk
  })
  const port = await listeningPort(child, output)
  check(`it starts as user ${describeUser(options)}`, port === undefined ? [output.text] : [])
  if (port === undefined) return

  const statusOf = async (path) => (await fetch(`http://127.0.0.1:${port}${path}`)).status
  check('/livez responds 200', (await statusOf('/livez')) === 200)
  check('/readyz responds 503 without Redis', (await statusOf('/readyz')) === 503)
  const health = spawnSync(
    join(node.folder, 'node'),
    image.health.slice(1),
    runOptions(image, { OPS_PORT: port }),
  )
  check("the image's health check passes", image.health[0] === 'node' && health.status === 0)
  child.kill(image.stopSignal)
  const [code] = await exited
  check(`${image.stopSignal}: exits with 0`, code === 0)
  const none = spawnSync(
    join(node.folder, 'node'),
    image.health.slice(1),
    runOptions(image, { OPS_PORT: port }),
  )
  check('after the stop, the health check fails', none.status === 1)
}

async function listeningPort(child, output) {
  const end = Date.now() + START_MS
  while (Date.now() < end && child.exitCode === null) {
    const found = /"event":"listening","name":"ops","port":(\d+)/.exec(output.text)
    if (found !== null && /"event":"listening","name":"public"/.test(output.text)) return found[1]
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return undefined
}

/** Root can run as the image's user, which has no write access to the image. */
function runOptions(image, env) {
  const [uid, gid] = image.user.split(':').map(Number)
  const mayChange = process.getuid?.() === 0
  return {
    cwd: join(image.root, image.workdir),
    env: { ...image.env, ...env },
    ...(mayChange ? { uid, gid } : {}),
  }
}

function describeUser({ uid }) {
  return uid === undefined ? `${process.getuid?.()}, as only root can run as the image's user` : uid
}

function filesIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
}

/** `result`: whether the check passed, or a list of problems. */
function check(name, result) {
  const problems = Array.isArray(result) ? result : result ? [] : [name]
  console.log(`${problems.length === 0 ? 'ok      ' : 'FAILED  '}${name}`)
  if (problems.length === 0) return
  failures.push(name)
  if (Array.isArray(result)) for (const problem of problems.slice(0, 20)) console.log(`          ${problem}`)
}
