import { readFileSync } from 'node:fs'
import { afterAll, afterEach, describe, expect, test } from '@jest/globals'
import { makeCertificates } from '../support/redis-certificates.ts'
import { startRedisCluster } from '../support/redis-cluster.ts'
import { startSentinels } from '../support/redis-sentinels.ts'
import { until } from '../support/until.ts'
import { cleanUpAll, connect, expectUnavailable, expectWorking, server, stopped } from './redis-harness.ts'

/**
 * Redis with `--tls-auth-clients yes`: it refuses clients without a certificate of its authority.
 */

const own = makeCertificates()
const foreign = makeCertificates()
const tls = { ...own, requiresClientCertificate: true }
const clientTls = ({ certFile, keyFile }: typeof own) => ({
  ca: own.ca,
  cert: readFileSync(certFile, 'utf8'),
  privateKey: readFileSync(keyFile, 'utf8'),
})
afterEach(cleanUpAll)
afterAll(() => {
  own.remove()
  foreign.remove()
})

describe('with a certificate of the authority, the store works', () => {
  test.each([
    ['one server', async () => (await server({ tls })).url],
    ['Sentinel', async () => stopped(await startSentinels({ tls, sentinels: 1, replicas: 0 })).url],
    ['a cluster', async () => stopped(await startRedisCluster(3, 0, { tls })).url],
  ])('%s', async (_, start) => {
    const url = await start()
    expect(url).toMatch(/^rediss/)
    await expectWorking(connect(url, clientTls(own)).store)
  })
})

test.each([
  ['no certificate', { ca: own.ca }, /ALERT_CERTIFICATE_REQUIRED$/],
  ['a certificate of another authority', clientTls(foreign), /ALERT_UNKNOWN_CA$/],
])('%s: 503, and the log has the reason', async (_, given, reason) => {
  const { store, events } = connect((await server({ tls })).url, given)
  await expectUnavailable(store)
  await until(() => events.some((event) => 'reason' in event && reason.test(event.reason)))
})
