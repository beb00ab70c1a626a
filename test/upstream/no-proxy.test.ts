import { expect, test } from '@jest/globals'
import { isProxied } from '../../src/upstream/no-proxy.ts'

test.each<[string, string[], boolean]>([
  ['https://org.example.com', [], true],
  ['http://127.0.0.1', [], false],
  ['https://org.example.com', ['org.example.com'], false],
  ['https://org.example.com', ['.example.com'], false],
  ['https://org.example.com', ['*.example.com'], false],
  ['https://org.example.com', ['*'], false],
  ['https://org.example.com', ['other.example.com', 'xample.com'], true],
  ['https://org.example.com:8443', ['org.example.com:443'], true],
  ['https://org.example.com:8443', ['org.example.com:8443'], false],
  ['https://10.1.2.3', ['10.0.0.0/8'], false],
  ['https://10.1.2.3', ['11.0.0.0/8'], true],
])('calls to %s with NO_PROXY=%j go through the egress proxy: %s', (url, entries, isThroughProxy) => {
  expect(isProxied(url, entries)).toBe(isThroughProxy)
})
