/**
 * `npm run image:check`: runs the steps of both Dockerfiles without Docker, each stage in a
 * temporary folder and on this Node, starts what they build, and stops it. An instruction that it
 * does not know is an error.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, posix } from 'node:path'
import { createInterface } from 'node:readline'

const IGNORED = /^(FROM|ARG|LABEL|USER|EXPOSE|STOPSIGNAL|HEALTHCHECK)$/
const BROKER = {
  PUBLIC_URL: 'https://portal.example.com',
  AUTHN_BASE_URL: 'https://org.example.net', // nothing is there, nor at the Redis
  AUTHN_API_TOKEN: 'made-up-api-token',
  REDIS_URL: 'redis://127.0.0.1:1/0',
  SECRET_KEYS: Buffer.alloc(32, 'made-up-').toString('base64'),
  PORT: '0',
  OPS_PORT: '0',
}
const work = mkdtempSync(join(tmpdir(), 'gatehouse-image-'))
try {
  // the public listener opens once Redis is reached
  await start(build('Dockerfile', '.dockerignore'), BROKER, [], /"event":"listening","name":"ops"/)
  const sandbox = 'deploy/compose/sandbox.Dockerfile'
  const image = build(sandbox, `${sandbox}.dockerignore`)
  await start(image, {}, ['--broker', '--port', '0', '--json'], /"brokerUrl"/)
} finally {
  rmSync(work, { recursive: true, force: true })
}

/** Returns the folder of the last stage, and its command. */
function build(dockerfile, dockerignore) {
  const isIncluded = readDockerignore(dockerignore)
  const text = readFileSync(dockerfile, 'utf8')
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n\s*/g, '')
  const stages = {}
  let stage
  for (const [, word, rest] of text.matchAll(/^(\w+) (.*)$/gm)) {
    if (word === 'FROM') {
      stage = { root: mkdtempSync(join(work, 'stage-')), workdir: '/', env: {} }
      stages[rest.split(' AS ')[1] ?? 'last'] = stage
    } else if (word === 'WORKDIR') {
      stage.workdir = rest
      mkdirSync(join(stage.root, rest), { recursive: true })
    } else if (word === 'ENV') stage.env[rest.split('=')[0]] = rest.slice(rest.indexOf('=') + 1)
    else if (word === 'RUN') run(rest, stage)
    else if (word === 'COPY') copy(rest.split(' '), stage, stages, isIncluded)
    else if (word === 'CMD' || word === 'ENTRYPOINT') stage.command = JSON.parse(rest)
    else if (!IGNORED.test(word)) throw new Error(`${dockerfile}: ${word} is not known to this check`)
  }
  console.log(`ok      ${dockerfile}: all steps`)
  return stage
}

function copy(words, stage, stages, isIncluded) {
  const from = words[0].startsWith('--from=') ? stages[words.shift().slice('--from='.length)] : undefined
  const to = words.pop()
  for (const source of words) {
    if (from === undefined && !isIncluded(source)) throw new Error(`.dockerignore excludes ${source}`)
    const start = from === undefined ? source : join(from.root, source)
    const isFile = to.endsWith('/') && statSync(start).isFile()
    const target = join(stage.root, posix.resolve(stage.workdir, to), isFile ? basename(source) : '')
    const filter = (path) => from !== undefined || isIncluded(path)
    cpSync(start, target, { recursive: true, verbatimSymlinks: true, filter })
  }
}

function run(command, { root, workdir, env }) {
  const { NODE_ENV: _, NODE_OPTIONS: __, ...ours } = process.env
  const options = { cwd: join(root, workdir), env: { ...ours, ...env }, shell: true, encoding: 'utf8' }
  const { status, stdout, stderr } = spawnSync(command, options)
  if (status !== 0) throw new Error(`RUN ${command} failed:\n${stdout}${stderr}`)
}

/** Whether a path is in the build context: the last plain rule that fits decides. */
function readDockerignore(path) {
  const rules = readFileSync(path, 'utf8').split('\n').filter(Boolean)
  const fits = (rule, file) => rule === '*' || file === rule || file.startsWith(`${rule}/`)
  return (file) => rules.findLast((rule) => fits(rule.replace(/^!/, ''), file))?.startsWith('!') ?? true
}

/** Starts the command, waits for a line that matches, and stops it. */
async function start({ root, workdir, env, command }, variables, args, line) {
  // Node 20 does not have it
  const known = command.slice(1).filter((flag) => flag !== '--disable-sigusr1')
  const child = spawn(process.execPath, [...known, ...args], {
    cwd: join(root, workdir),
    env: { ...env, ...variables },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let isReady = false
  for await (const text of createInterface(child.stdout)) {
    if (!line.test(text)) continue
    isReady = true
    child.kill('SIGTERM')
  }
  const code = child.exitCode ?? (await once(child, 'exit'))[0]
  if (!isReady || code !== 0) throw new Error(`${command.join(' ')}: started: ${isReady}, exit code ${code}`)
  console.log(`ok      ${command.join(' ')}: starts, and SIGTERM ends it with 0`)
}
