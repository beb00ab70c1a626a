import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from '@jest/globals'
import { spawnBroker } from '../support/broker-process.ts'

/** `npm run demo` without npm. */
const runDemo = (PORT: string) => spawnBroker('build/demo/main.js', { PORT })

test('a PORT that is taken is named, with a way out', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo // of a TCP server that listens
  const { output, exited } = runDemo(String(port))
  expect(await exited).toBe(1)
  expect(output.err).toContain(`port ${port} is in use`)
  expect(output.err).toMatch(/PORT=\d+ npm run demo/)
  other.close()
  await once(other, 'close')
})

test.each(['0', 'http', '65536', '8080x'])('PORT=%s is refused by name', async (port) => {
  const { output, exited } = runDemo(port)
  expect(await exited).toBe(1)
  expect(output.err).toContain('PORT must be')
})
