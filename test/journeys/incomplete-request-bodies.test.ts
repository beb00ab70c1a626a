import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { askPort } from '../http/serve.ts'
import { type BrokerDirectory, type BrokerProcess, makeBrokerDirectory } from '../support/broker-process.ts'
import { patientTunables, TEST_KEY } from '../support/gatehouse.ts'
import { until } from '../support/until.ts'

/** Clients that never complete their request bodies, against a real broker process. */

const CONNECTIONS = 3000
const MAX_MB = 40
/** Most kinds open fewer connections and may use half the memory. `npm run faults` opens all. */
const fewer = (connections: number) => Number(process.env.SLOW_CONNECTIONS ?? connections)
/** For kinds whose requests take long to send. */
const SLOW_CONNECTIONS = fewer(250)
const AT_ONCE = 50

let home: BrokerDirectory
let broker: BrokerProcess
const sockets: Socket[] = []
beforeAll(async () => {
  home = await makeBrokerDirectory(patientTunables)
  broker = await home.start({
    PUBLIC_URL: 'http://localhost:8080',
    TRUST_PROXY: '127.0.0.1',
    AUTHN_BASE_URL: 'http://127.0.0.1:9', // nothing here is sent there
    AUTHN_API_TOKEN: 'plainly-fake-ssws-token',
    REDIS_URL: 'memory:',
    SECRET_KEYS: TEST_KEY,
    // a small heap, so that V8 collects garbage often and resident memory is comparable
    NODE_OPTIONS: '--max-old-space-size=64 --max-semi-space-size=1',
  })
  await sendInvalidSignIns(200) // warm up: the first requests cost more
})
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
})
afterAll(() => home?.remove())

const residentMb = () => {
  const status = readFileSync(`/proc/${broker.child.pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024
}

/** Sends complete requests, each from its own address, that the broker refuses without an upstream call. */
async function sendInvalidSignIns(times: number): Promise<number[]> {
  const statuses: number[] = []
  for (let n = 0; n < times; n++) {
    const answer = await askPort(Number(broker.port), {
      method: 'POST',
      path: '/api/v1/authn',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': `192.0.2.${n % 250}` },
      body: '{"username":""}',
    })
    statuses.push(answer.status)
  }
  return statuses
}

interface IncompleteRequest {
  /** Default: `CONNECTIONS`. */
  readonly connections?: number
  readonly from: (n: number) => string
  readonly lengthHeader: string
  readonly headerLines?: string
  readonly partialBody: Buffer
}

/** Resolves when all is sent or the broker has closed the connection; `answer` returns the response so far. */
function sendIncomplete(
  { from, lengthHeader, headerLines = '', partialBody }: IncompleteRequest,
  n: number,
): Promise<{ answer(): string }> {
  return new Promise((resolve) => {
    let answer = ''
    const done = () => resolve({ answer: () => answer })
    const socket = connect(Number(broker.port), '127.0.0.1', () => {
      socket.write(
        `POST /api/v1/authn HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${from(n)}\r\n` +
          `Content-Type: application/json\r\n${headerLines}${lengthHeader}\r\n\r\n`,
      )
      socket.write(partialBody, done)
    })
    socket.on('data', (bytes) => {
      answer += bytes.toString()
    })
    socket.on('error', done)
    socket.on('close', done)
    sockets.push(socket)
  })
}

const PARTIAL_BODY = Buffer.alloc(60_000, 'x')
const ONE_ADDRESS = () => '198.51.100.1'
const OWN_ADDRESS = (n: number) => `10.1.${n >> 8}.${n & 255}`
const KINDS: Readonly<Record<string, IncompleteRequest>> = {
  'from one address': { from: ONE_ADDRESS, lengthHeader: 'Content-Length: 65536', partialBody: PARTIAL_BODY },
  'from one address each': {
    connections: fewer(1500),
    from: OWN_ADDRESS,
    lengthHeader: 'Content-Length: 65536',
    partialBody: PARTIAL_BODY,
  },
  'in chunks of one byte': {
    connections: SLOW_CONNECTIONS,
    from: OWN_ADDRESS,
    lengthHeader: 'Transfer-Encoding: chunked',
    partialBody: Buffer.from('1\r\nx\r\n'.repeat(2000)),
  },
  'with 7,000 header lines': {
    connections: SLOW_CONNECTIONS,
    from: OWN_ADDRESS,
    lengthHeader: 'Content-Length: 200',
    headerLines: 'W: b\r\n'.repeat(7000),
    partialBody: Buffer.from('{'),
  },
  'with 3,200 cookies': {
    connections: SLOW_CONNECTIONS,
    from: OWN_ADDRESS,
    lengthHeader: 'Content-Length: 2',
    headerLines: `Cookie: ${Array.from({ length: 3200 }, (_, n) => `${(1296 + n).toString(36)}=`).join(';')}\r\n`,
    partialBody: Buffer.from('{'),
  },
  'in chunks, with 8,000 trailers': {
    connections: SLOW_CONNECTIONS,
    from: OWN_ADDRESS,
    lengthHeader: 'Transfer-Encoding: chunked',
    partialBody: Buffer.from(`1\r\n{\r\n0\r\n${'ab:\r\n'.repeat(8000)}`),
  },
}

describe.each(Object.entries(KINDS))('incomplete bodies %s', (_name, incomplete) => {
  const { connections = CONNECTIONS } = incomplete
  const maxMb = connections < CONNECTIONS ? MAX_MB / 2 : MAX_MB
  test(`of ${connections} connections use at most ${maxMb} MB, and other requests are served`, async () => {
    const beforeMb = residentMb()
    let peakMb = 0
    for (let n = 0; n < connections; n += AT_ONCE) {
      await Promise.all(Array.from({ length: AT_ONCE }, (_, at) => sendIncomplete(incomplete, n + at)))
      peakMb = Math.max(peakMb, residentMb())
    }
    expect(await sendInvalidSignIns(3)).toEqual([400, 400, 400])
    peakMb = Math.max(peakMb, residentMb())
    expect(peakMb - beforeMb).toBeLessThan(maxMb)
  })
})

test('a client that disconnects frees the place of its body', async () => {
  const evictions = async () => {
    const metrics = await (await fetch(`${broker.opsUrl}/metrics`)).text()
    return metrics.split('\n').filter((line) => /requests_shed_total\{kind="body"/.test(line))
  }
  await Promise.all(
    Array.from({ length: 300 }, (_, n) =>
      sendIncomplete(
        { from: OWN_ADDRESS, lengthHeader: 'Content-Length: 10000', partialBody: Buffer.from('{') },
        n,
      ),
    ),
  )
  for (const socket of sockets) socket.end()
  await until(() => sockets.every(({ closed }) => closed))
  const before = await evictions()
  await Promise.all(
    Array.from({ length: 300 }, (_, n) =>
      sendIncomplete(
        { from: OWN_ADDRESS, lengthHeader: 'Content-Length: 10000', partialBody: Buffer.from('{') },
        n,
      ),
    ),
  )
  expect(await sendInvalidSignIns(1)).toEqual([400]) // all earlier connections have been handled
  expect(await evictions()).toEqual(before)
})

test('an evicted body is answered 503, and its connection is closed', async () => {
  const all = await Promise.all(
    Array.from({ length: 300 }, (_, n) =>
      sendIncomplete(
        { from: ONE_ADDRESS, lengthHeader: 'Content-Length: 200', partialBody: Buffer.from('{') },
        n,
      ),
    ),
  )
  const answered = () => all.filter(({ answer }) => answer().startsWith('HTTP/1.1 503 '))
  await until(() => answered().length === 100)
  await until(() => sockets.filter(({ closed }) => closed).length === 100)
  const [text = ''] = answered().map(({ answer }) => answer())
  expect(text).toMatch(/\r\nRetry-After: 2\r\n/)
  expect(text).toMatch(/"errorCode":"E0000009"/)
})
