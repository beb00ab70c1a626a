import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { Session } from 'node:inspector/promises'
import { connect, createServer } from 'node:net'
import { PassThrough } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { createSandbox } from '../build/sandbox/sandbox.js'
import { defaultConfigPath, loadSandboxConfig } from '../build/sandbox/sandbox-config.js'
import { createSandboxBroker } from '../build/sandbox-package/sandbox-broker.js'
import { files } from './code-size.mjs'

/**
 * For `npm run figures`: what a step costs with Redis, and the files that it runs through. Needs
 * redis-server.
 */
export async function stepFigures() {
  const redis = await startRedis()
  const config = loadSandboxConfig(defaultConfigPath)
  const sandbox = createSandbox({ config })
  const upstreams = await sandbox.listen()
  let aheadMs = 0
  const server = createHttpServer((req, res) => broker.app(req, res)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://localhost:${server.address().port}`
  const broker = createSandboxBroker({
    env: { PUBLIC_URL: url, REDIS_URL: redis.url },
    config,
    upstreams,
    logStream: new PassThrough().resume(),
    now: () => Date.now() + aheadMs,
  })

  try {
    const signIn = (browser, username) => browser('/api/v1/authn', { username, password: 'Demo-Password-1' })
    const verify = (browser, { _embedded, stateToken }, factorType, fields) => {
      const { _links } = _embedded.factors.find((factor) => factor.factorType === factorType)
      return browser(_links.verify.href, { stateToken, ...fields })
    }
    /** The steps in order, each with its preparation: the first run loads scripts and lists. */
    const measure = async () => {
      const [amelia, tomas, priya] = [openBrowser(url), openBrowser(url), openBrowser(url)]
      const costs = {
        'password that opens a session': await redis.count(() => signIn(amelia, 'amelia.stone')),
      }
      let answer
      costs['password before a factor'] = await redis.count(async () => {
        answer = await signIn(tomas, 'tomas.berg')
      })
      const passCode = sandbox.totpCode('tomas.berg')
      costs.code = await redis.count(() => verify(tomas, answer, 'token:software:totp', { passCode }))
      const required = await signIn(priya, 'priya.nair')
      await verify(priya, required, 'push')
      aheadMs += 60_000 // the poll is due
      costs['push poll'] = await redis.count(() => verify(priya, required, 'push'))
      costs['session check'] = await redis.count(() => amelia('/api/v1/sessions/me'))
      await amelia('/forward-auth') // extends the session
      costs['forward-auth'] = await redis.count(() => amelia('/forward-auth'))
      await amelia('/api/v1/pam/me')
      costs.groups = await redis.count(() => amelia('/api/v1/pam/me'))
      return costs
    }
    await measure()
    const costs = await measure()
    return { costs, ...(await filesOf(() => signIn(openBrowser(url), 'amelia.stone'))) }
  } finally {
    server.closeAllConnections()
    server.close()
    await broker.close()
    await upstreams.close()
    redis.stop()
  }
}

function openBrowser(origin) {
  const cookies = new Map()
  return async (path, body) => {
    const cookie = [...cookies].map((pair) => pair.join('=')).join('; ')
    const response = await fetch(new URL(path, origin), {
      headers: { cookie, 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    })
    for (const line of response.headers.getSetCookie()) cookies.set(...line.split(';')[0].split(/=(.*)/s, 2))
    const text = await response.text()
    if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`)
    return text && JSON.parse(text)
  }
}

/**
 * A Redis behind a proxy that counts. Commands that are sent before a reply arrives belong to the
 * same round trip.
 */
async function startRedis() {
  const port = 20_000 + (process.pid % 10_000)
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '']
  const child = spawn('redis-server', args, { stdio: 'ignore' })
  for (let tries = 0; !(await accepts(port)); tries++) {
    if (tries > 100) throw new Error('redis-server does not start')
    await delay(50)
  }
  let [commands, roundTrips, awaited] = [0, 0, false]
  const proxy = createServer((broker) => {
    const toRedis = connect(port, '127.0.0.1')
    broker.on('data', (chunk) => {
      if (!awaited) roundTrips += 1
      awaited = true
      commands += chunk.toString('latin1').match(/(?:^|\r\n)\*\d+\r\n\$\d+\r\n/g)?.length ?? 0
      toRedis.write(chunk)
    })
    toRedis.on('data', (chunk) => {
      awaited = false
      broker.write(chunk)
    })
    for (const socket of [broker, toRedis]) {
      socket.on('error', () => {})
      socket.on('close', () => (socket === broker ? toRedis : broker).destroy())
    }
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  return {
    url: `redis://127.0.0.1:${proxy.address().port}`,
    async count(work) {
      await delay(100) // what the last request left for the background
      ;[commands, roundTrips] = [0, 0]
      await work()
      await delay(100)
      return { commands, roundTrips }
    },
    stop() {
      proxy.close()
      child.kill()
    },
  }
}

const accepts = (port) =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.end(() => resolve(true)))
    socket.once('error', () => resolve(false))
  })

const fileOf = (url) => `src/${url.split('/build/')[1]?.replace(/\.js$/, '.ts')}`
const isBrokers = new Set(files)

/**
 * The broker's files with a function that ran, and those that a callback enters again, as sampled
 * over many runs.
 */
async function filesOf(work) {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  await work()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  await session.post('Profiler.stopPreciseCoverage')
  const ran = result
    .filter(({ functions }) => functions.some(({ functionName, ranges }) => functionName && ranges[0].count))
    .map(({ url }) => fileOf(url))
    .filter((path) => isBrokers.has(path))

  await session.post('Profiler.setSamplingInterval', { interval: 100 })
  await session.post('Profiler.start')
  for (let n = 0; n < 200; n++) await work()
  const { profile } = await session.post('Profiler.stop')
  session.disconnect()
  return { ran, enteredTwice: enteredTwice(profile.nodes) }
}

/** Each file with the files between its two frames on one stack. */
function enteredTwice(nodes) {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const found = new Map()
  const visit = ({ callFrame, children = [] }, stack) => {
    const path = fileOf(callFrame.url)
    const isNext = isBrokers.has(path) && stack.at(-1) !== path
    if (isNext && stack.includes(path)) found.set(path, [...stack.slice(stack.lastIndexOf(path)), path])
    for (const id of children) visit(byId.get(id), isNext ? [...stack, path] : stack)
  }
  visit(nodes[0], [])
  return [...found.values()]
}
