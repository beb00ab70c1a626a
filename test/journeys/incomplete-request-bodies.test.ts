import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { askPort } from '../http/serve.ts'
import { type BrokerDirectory, type BrokerProcess, makeBrokerDirectory } from '../support/broker-process.ts'
import { patientTunables, TEST_KEY } from '../support/gatehouse.ts'
import { until } from '../support/until.ts'

/** Clients that never finish their bodies, against a real broker process. */

const CONNECTIONS = 3000
const MOST_MB = 40
/** Most kinds open fewer, and may cost half as much. `npm run faults` opens all of every kind. */
const fewer = (connections: number) => Number(process.env.SLOW_CONNECTIONS ?? connections)
/** Of kinds whose every connection takes long to send. */
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
    // V8 collects garbage when it likes to; so it does not let more than a few MB lie
    NODE_OPTIONS: '--max-old-space-size=64 --max-semi-space-size=1',
  })
  await signInBadly(200) // what the first requests cost is not what this is about
})
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
})
afterAll(() => home?.remove())

const residentMb = () => {
  const status = readFileSync(`/proc/${broker.child.pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024
}

/** A request whose body is complete, from an address of its own; the broker itself answers it. */
async function signInBadly(times: number): Promise<number[]> {
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

interface Unfinished {
  /** Default: `CONNECTIONS`. */
  readonly connections?: number
  readonly from: (n: number) => string
  readonly announces: string
  readonly headerLines?: string
  readonly sends: Buffer
}

/** Resolves once all of it is sent, or the broker has closed the connection; with what the broker answered by then. */
function begin(
  { from, announces, headerLines = '', sends }: Unfinished,
  n: number,
): Promise<{ answer(): string }> {
  return new Promise((resolve) => {
    let answer = ''
    const done = () => resolve({ answer: () => answer })
    const socket = connect(Number(broker.port), '127.0.0.1', () => {
      socket.write(
        `POST /api/v1/authn HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${from(n)}\r\n` +
          `Content-Type: application/json\r\n${headerLines}${announces}\r\n\r\n`,
      )
      socket.write(sends, done)
    })
    socket.on('data', (bytes) => {
      answer += bytes.toString()
    })
    socket.on('error', done)
    socket.on('close', done)
    sockets.push(socket)
  })
}

const MOST_OF_IT = Buffer.alloc(60_000, 'x')
const ONE_ADDRESS = () => '198.51.100.1'
const OWN_ADDRESS = (n: number) => `10.1.${n >> 8}.${n & 255}`
const KINDS: Readonly<Record<string, Unfinished>> = {
  'from one address': { from: ONE_ADDRESS, announces: 'Content-Length: 65536', sends: MOST_OF_IT },
  'from as many addresses': {
    connections: fewer(1500),
    from: OWN_ADDRESS,
    announces: 'Content-Length: 65536',
    sends: MOST_OF_IT,
  },
  'in chunks of one byte': {
    connections: SLOW_CONNECTIONS,
    from: OWN_ADDRESS,
    announces: 'Transfer-Encoding: chunked',
    sends: Buffer.from('1\r\nx\r\n'.repeat(2000)),
  },
  'with 7,000 header lines': {
    connections: SLOW_CONNECTIONS,
    from: OWN_ADDRESS,
    announces: 'Content-Length: 200',
    headerLines: 'W: b\r\n'.repeat(7000),
    sends: Buffer.from('{'),
  },
  'with 3,200 cookies': {
    connections: SLOW_CONNECTIONS,
    from: OWN_ADDRESS,
    announces: 'Content-Length: 2',
    headerLines: `Cookie: ${Array.from({ length: 3200 }, (_, n) => `${(1296 + n).toString(36)}=`).join(';')}\r\n`,
    sends: Buffer.from('{'),
  },
  'in chunks, with 8,000 trailers': {
    connections: SLOW_CONNECTIONS,
    from: OWN_ADDRESS,
    announces: 'Transfer-Encoding: chunked',
    sends: Buffer.from(`1\r\n{\r\n0\r\n${'ab:\r\n'.repeat(8000)}`),
  },
}

describe.each(Object.entries(KINDS))('unfinished bodies %s', (_name, unfinished) => {
  const { connections = CONNECTIONS } = unfinished
  const mostMb = connections < CONNECTIONS ? MOST_MB / 2 : MOST_MB
  test(`of ${connections} connections cost at most ${mostMb} MB, and everybody else is served`, async () => {
    const beforeMb = residentMb()
    let peakMb = 0
    for (let n = 0; n < connections; n += AT_ONCE) {
      await Promise.all(Array.from({ length: AT_ONCE }, (_, at) => begin(unfinished, n + at)))
      peakMb = Math.max(peakMb, residentMb())
    }
    expect(await signInBadly(3)).toEqual([400, 400, 400])
    peakMb = Math.max(peakMb, residentMb())
    expect(peakMb - beforeMb).toBeLessThan(mostMb)
  })
})

test('a body whose client hangs up takes up no place any more', async () => {
  const evictions = async () => {
    const metrics = await (await fetch(`${broker.opsUrl}/metrics`)).text()
    return metrics.split('\n').filter((line) => /requests_shed_total\{kind="body"/.test(line))
  }
  await Promise.all(
    Array.from({ length: 300 }, (_, n) =>
      begin({ from: OWN_ADDRESS, announces: 'Content-Length: 10000', sends: Buffer.from('{') }, n),
    ),
  )
  for (const socket of sockets) socket.end()
  await until(() => sockets.every(({ closed }) => closed))
  const before = await evictions()
  await Promise.all(
    Array.from({ length: 300 }, (_, n) =>
      begin({ from: OWN_ADDRESS, announces: 'Content-Length: 10000', sends: Buffer.from('{') }, n),
    ),
  )
  expect(await signInBadly(1)).toEqual([400]) // whoever came before has been looked at
  expect(await evictions()).toEqual(before)
})

test('an evicted body is answered 503, and its connection ends', async () => {
  const all = await Promise.all(
    Array.from({ length: 300 }, (_, n) =>
      begin({ from: ONE_ADDRESS, announces: 'Content-Length: 200', sends: Buffer.from('{') }, n),
    ),
  )
  const answered = () => all.filter(({ answer }) => answer().startsWith('HTTP/1.1 503 '))
  await until(() => answered().length === 100)
  await until(() => sockets.filter(({ closed }) => closed).length === 100)
  const [text = ''] = answered().map(({ answer }) => answer())
  expect(text).toMatch(/\r\nRetry-After: 2\r\n/)
  expect(text).toMatch(/"errorCode":"E0000009"/)
})
