import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from '@jest/globals'
import { spawnNode } from 'gatehouse-test-support/broker-process'
import { parseDemoPort } from '../src/demo-port.ts'

test('the demo at a PORT in use or an invalid one: the error names it, and suggests another for the one in use', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo // a listening TCP server has an AddressInfo
  const { output, exited } = spawnNode('demo/dist/main.js', { PORT: String(port) })
  expect(await exited).toBe(1)
  expect(output.err).toContain(`port ${port} is in use`)
  expect(output.err).toMatch(/PORT=\d+ npm run demo/)
  other.close()
  await once(other, 'close')
  const invalid = spawnNode('demo/dist/main.js', { PORT: '8080x' })
  expect(await invalid.exited).toBe(1)
  expect(invalid.output.err).toContain('PORT must be')
})

test.each(['0', 'http', '65536', '8080x', '080', '-1', ' 80', '1e3', ''])('PORT=%p is refused', (port) => {
  expect(() => parseDemoPort(port)).toThrow('PORT must be')
})
