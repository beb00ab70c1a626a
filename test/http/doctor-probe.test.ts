import { afterEach, expect, test } from '@jest/globals'
import { createSigner } from '../../src/crypto/keys.ts'
import { answerProbes, createProbe, PROBE_HEADER, PROBE_PATH } from '../../src/http/doctor-probe.ts'
import type { Route } from '../../src/http/routes.ts'
import { keeper, serve } from './serve.ts'

const { keep, closeAll } = keeper()
afterEach(closeAll)

const NOW = 1_900_000_000_000
const MINUTE_MS = 60_000
const signer = (byte = 7) => createSigner(() => [Buffer.alloc(32, byte)], 'doctor-probe')
const probeAt = (ms: number, by = signer()) => createProbe({ signer: by, now: () => ms })

const responding = (method: Route['method'], path: string, status: number): Route => ({
  method,
  path,
  handle: (_req, res) => void res.status(status).end(),
})

async function ask(probe: string | string[], forwardedFor: string, method = 'GET', path = PROBE_PATH) {
  const broker = keep(
    await serve({
      routes: answerProbes(
        [
          responding('GET', PROBE_PATH, 204),
          responding('DELETE', PROBE_PATH, 202),
          responding('GET', '/forward-auth', 401),
        ],
        { signer: signer(), now: () => NOW },
      ),
      trusted: ['127.0.0.1/32', '10.0.0.0/8'],
    }),
  )
  return broker.ask({ method, path, headers: { [PROBE_HEADER]: probe, 'X-Forwarded-For': forwardedFor } })
}

test.each([
  ['of another key', probeAt(NOW, signer(8))],
  ['that is too old', probeAt(NOW - 6 * MINUTE_MS)],
  ['of the future', probeAt(NOW + 6 * MINUTE_MS)],
  ['with another time', probeAt(NOW).replace('19000', '18999')],
  ['without a signature', String(NOW)],
  ['that is empty', ''],
  ['sent twice', [probeAt(NOW), probeAt(NOW)]],
])('a probe %s gets no answer', async (_, probe) => {
  expect(await ask(probe, '198.51.100.7')).toMatchObject({ status: 204, text: '' })
})

test('a genuine probe, which a reader of a proxy’s log can repeat, never gets a success', async () => {
  expect((await ask(probeAt(NOW), '198.51.100.7')).status).toBe(404)
  expect((await ask(probeAt(NOW), '198.51.100.7', 'GET', '/forward-auth')).status).toBe(401)
  expect((await ask(probeAt(NOW), '198.51.100.7', 'DELETE')).status).toBe(202)
})

test.each([
  ['198.51.100.7', { address: '198.51.100.7', firstForwarded: '198.51.100.7' }],
  ['192.0.2.1, 198.51.100.7:4711, 10.1.1.1', { address: '198.51.100.7', firstForwarded: '192.0.2.1' }],
  ['unknown, 198.51.100.7', { address: '198.51.100.7', firstForwarded: 'malformed' }],
])('the answer to X-Forwarded-For %s', async (forwardedFor, answer) => {
  for (const sentAt of [NOW, NOW - 4 * MINUTE_MS, NOW + 4 * MINUTE_MS])
    expect((await ask(probeAt(sentAt), forwardedFor)).json).toEqual(answer)
})
