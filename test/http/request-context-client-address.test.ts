import { IncomingMessage, ServerResponse } from 'node:http'
import { isIP, Socket } from 'node:net'
import { describe, expect, test } from '@jest/globals'
import type { Request, Response } from 'express'
import fc from 'fast-check'
import { beginRequest } from '../../src/http/begin-request.ts'
import { createTrustedProxies, getRequestContext, networksForLimits } from '../../src/http/request-context.ts'
import { createMetrics } from '../../src/observability/metrics.ts'
import { collectLog } from '../observability/collect-log.ts'
import { useKeeper } from '../support/keeper.ts'
import { serve } from './serve.ts'

const keep = useKeeper()

/** Node joins several headers of this name. */
function requestFrom(socketAddress: string | undefined, forwardedFor?: string): IncomingMessage {
  const socket = new Socket()
  Object.defineProperty(socket, 'remoteAddress', { value: socketAddress })
  const req = new IncomingMessage(socket)
  if (forwardedFor !== undefined) req.headers['x-forwarded-for'] = forwardedFor
  return req
}

const telemetry = { ...collectLog(), metrics: createMetrics() }

const beginners = new Map<string, ReturnType<typeof beginRequest>>()

/** The middleware that trusts these proxies, the same for each request. */
function beginWith(trusted: string[]) {
  const name = trusted.join()
  const begin = beginners.get(name) ?? beginRequest(createTrustedProxies(trusted), telemetry)
  beginners.set(name, begin)
  return begin
}

function found(socketAddress: string | undefined, header: string | undefined, trusted: string[] = []) {
  const req = requestFrom(socketAddress, header) as Request
  const begin = beginWith(trusted)
  begin(req, new ServerResponse(req) as Response, () => {})
  const { address, addressProblem } = getRequestContext(req)
  return { address, ...(addressProblem && { addressProblem }) }
}
const addressOf = (...from: Parameters<typeof found>) => found(...from).address

const EDGE = '10.0.0.1'
const INNER = '10.0.0.2'
const TRUSTED = ['10.0.0.0/24']

const ADDRESSES: [what: string, socket: string | undefined, header: string | undefined, address: string][] = [
  ['a client that is not a proxy: its header is ignored', '203.0.113.9', '198.51.100.1', '203.0.113.9'],
  ['a client that bypasses the proxy', '198.51.100.7', `6.6.6.6, ${EDGE}`, '198.51.100.7'],
  ['another client’s malformed header', '203.0.113.9', 'garbage', '203.0.113.9'],
  ['a closed socket', undefined, '198.51.100.1', '0.0.0.0'],
  ['one trusted proxy: the entry that it added', EDGE, '198.51.100.1', '198.51.100.1'],
  ['whatever is left of it', EDGE, '1.1.1.1, 2.2.2.2, 198.51.100.1', '198.51.100.1'],
  ['even if that is not an address', EDGE, 'unknown, , 198.51.100.1', '198.51.100.1'],
  ['two trusted proxies', INNER, `198.51.100.1, ${EDGE}`, '198.51.100.1'],
  ['the entry that the outer one added', INNER, `6.6.6.6, 198.51.100.1, ${EDGE}`, '198.51.100.1'],
  ['garbage left of the client’s own entry', INNER, `garbage, 198.51.100.1, ${EDGE}`, '198.51.100.1'],
  // shows: V4.1.3
  [
    'addresses of proxies in a client’s own header have no effect',
    EDGE,
    `6.6.6.6, ${INNER}, ${EDGE}, 198.51.100.1`,
    '198.51.100.1',
  ],
  ['empty entries of a client', EDGE, ' ,, 6.6.6.6, ,198.51.100.1', '198.51.100.1'],
  ['empty entries between two proxies', INNER, `198.51.100.1,, ,${EDGE}`, '198.51.100.1'],
  ['empty entries, and only trusted proxies', INNER, `, , 10.0.0.7,, ${EDGE}`, '10.0.0.7'],
  ['only trusted proxies: the outermost one', INNER, `10.0.0.7, ${EDGE}`, '10.0.0.7'],
]
test.each(ADDRESSES)('%s', (_what, socket, header, address) => {
  expect(found(socket, header, TRUSTED)).toEqual({ address })
})

test('without trusted proxies, the header is ignored', () => {
  expect(addressOf('127.0.0.1', '198.51.100.1')).toBe('127.0.0.1')
  expect(addressOf('203.0.113.9', undefined)).toBe('203.0.113.9')
})

describe('the client’s address is unknown', () => {
  test.each([undefined, '', ' ', '\t'])('if a trusted proxy sends no entry: %j', (header) => {
    expect(found(EDGE, header, TRUSTED)).toEqual({ address: EDGE, addressProblem: 'missing' })
  })

  test.each([',', ', ', '6.6.6.6,', '6.6.6.6, \t', ',,', `6.6.6.6, ${EDGE},`])(
    'if a trusted proxy added an empty entry: %j',
    (header) => {
      expect(found(INNER, header, TRUSTED)).toEqual({ address: INNER, addressProblem: 'empty' })
    },
  )

  describe('if a trusted proxy added an entry that is not an address', () => {
    test.each([
      'unknown',
      '198.51.100.256',
      '198.51.100.01',
      '0x7f000001',
      '2130706433',
      '198.51.100.1%eth0',
      '[198.51.100.1',
      '[::1',
      '[2001:db8::1]:80x',
      'fe80::1::2',
      '１９８.51.100.1',
      'a'.repeat(10_000),
    ])('%j', (header) => {
      const unknown = { address: EDGE, addressProblem: 'malformed' }
      expect(found(EDGE, header, TRUSTED)).toEqual(unknown)
      expect(found(EDGE, `6.6.6.6, ${header}`, TRUSTED)).toEqual(unknown)
      expect(found(INNER, `6.6.6.6, ${header}, ${EDGE}`, TRUSTED)).toEqual({ ...unknown, address: INNER })
    })
  })
})

test('a text that is not an address is not a trusted proxy', () => {
  for (const text of ['', 'localhost', '10.0.0.0/24']) expect(createTrustedProxies(TRUSTED)(text)).toBe(false)
})

describe('normalization', () => {
  test.each([
    ['198.51.100.1:4711', '198.51.100.1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['[2001:db8::1]:4711', '2001:db8::1'],
    ['2001:DB8:0:0:0:0:0:1', '2001:db8::1'],
    ['::ffff:198.51.100.1', '198.51.100.1'],
    ['::FFFF:c633:6401', '198.51.100.1'],
    ['[::ffff:198.51.100.1]:1', '198.51.100.1'],
    ['fe80::1%eth0', 'fe80::1'],
    ['  198.51.100.1\t', '198.51.100.1'],
    ['::', '::'],
  ])('%j is %j', (entry, address) => {
    expect(addressOf(EDGE, entry, TRUSTED)).toBe(address)
  })

  test('a dual-stack socket reports IPv4 peers as mapped addresses', () => {
    expect(addressOf('::ffff:10.0.0.1', '198.51.100.1', TRUSTED)).toBe('198.51.100.1')
    expect(addressOf('::ffff:203.0.113.9', '198.51.100.1', TRUSTED)).toBe('203.0.113.9')
  })

  test('CIDRs match addresses of their own family only', () => {
    expect(addressOf('2001:db8::5', '198.51.100.1', ['2001:db8::/64'])).toBe('198.51.100.1')
    expect(addressOf('2001:db8:1::5', '198.51.100.1', ['2001:db8::/64'])).toBe('2001:db8:1::5')
    expect(addressOf('2001:db8::5', '198.51.100.1', ['2001:DB8:0::5/128'])).toBe('198.51.100.1')
    expect(addressOf('10.0.0.5', '198.51.100.1', ['::/1', '10.0.0.5/32'])).toBe('198.51.100.1')
    expect(addressOf('10.0.1.0', '198.51.100.1', ['10.0.0.0/24'])).toBe('10.0.1.0')
    expect(addressOf('fe80::1%eth0', '198.51.100.1', ['fe80::/10'])).toBe('198.51.100.1')
  })

  test('over a real connection, with the header sent several times', async () => {
    const show = {
      method: 'GET',
      path: '/',
      handle: (req: Parameters<typeof getRequestContext>[0], res: { end(text: string): void }) =>
        res.end(getRequestContext(req).address),
    } as const
    const behind = keep(await serve({ routes: [show], trusted: ['127.0.0.0/8', '10.0.0.0/24'] }))
    const headers = { 'X-Forwarded-For': ['6.6.6.6', '198.51.100.1', EDGE] }
    expect((await behind.ask({ headers })).text).toBe('198.51.100.1')
    const alone = keep(await serve({ routes: [show] }))
    expect((await alone.ask({ headers })).text).toBe('127.0.0.1')
  })
})

// shows: V15.3.4
test('for any header, the address is the socket’s or was added by a chain of trusted hops', () => {
  const ip = fc.oneof(fc.ipV4(), fc.ipV6(), fc.constantFrom('10.0.0.3', '10.0.0.4', '10.0.0.5'))
  const entry = fc.oneof(ip, ip, fc.string(), fc.constantFrom('', 'unknown', '[::1]:80', '10.0.0.9:1'))
  const isProxy = (text: string) => /^10\.0\.0\.\d+$/.test(text)
  fc.assert(
    fc.property(ip, fc.array(entry, { maxLength: 8 }), (socketAddress, entries) => {
      const { address, addressProblem } = found(socketAddress, entries.join(','), TRUSTED)
      expect(isIP(address)).toBeGreaterThan(0)
      const proxy = addressOf(socketAddress, undefined)
      if (addressProblem !== undefined) {
        expect([address, isProxy(proxy)]).toEqual([proxy, true])
        return
      }

      const hops = entries
        .join(',')
        .split(',')
        .filter((hop) => hop.trim() !== '')
      let believed = proxy
      while (isProxy(believed) && hops.length > 0) {
        const next = found(EDGE, hops.pop()?.trim(), [`${EDGE}/32`]) // one normalized entry
        expect(next.addressProblem).toBeUndefined()
        believed = next.address
      }
      expect(address).toBe(believed)
    }),
    { numRuns: 700 },
  )
})

test.each([
  ['203.0.113.5', ['203.0.113.5']],
  ['::ffff:203.0.113.5', ['203.0.113.5']],
  ['2001:db8:1:2:3:4:5:6', ['2001:db8:1:2::/64', '2001:db8:1::/56', '2001:db8:1::/48']],
  ['2001:DB8:1:2::', ['2001:db8:1:2::/64', '2001:db8:1::/56', '2001:db8:1::/48']],
  ['2001:db8:1:1ff::1', ['2001:db8:1:1ff::/64', '2001:db8:1:100::/56', '2001:db8:1::/48']],
  ['::1', ['::/64', '::/56', '::/48']],
  ['no address', ['no address']],
])('limits count %s in %j', (address, counted) => {
  const networks = networksForLimits(address)
  expect(networks.map(({ name }) => name)).toEqual(counted)
  expect(networks.map(({ factor }) => factor)).toEqual([1, 3, 10].slice(0, counted.length))
})
