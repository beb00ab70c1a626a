import { once } from 'node:events'
import { connect } from 'node:net'
import { createRedisClient, type RedisClientOptions } from '../store/redis-client.ts'
import type { RedisTarget } from '../store/redis-url.ts'
import { type Finding, fail } from './check.ts'

/** Looks for the reason if a client has not reached Redis. Sends no password over a connection without TLS. */
export async function explainUnreachable(
  target: RedisTarget,
  options: Omit<RedisClientOptions, 'target'>,
  code = '',
): Promise<Finding | undefined> {
  if (CERTIFICATE_ALERT.test(code))
    return options.cert === undefined ? CERTIFICATE_MISSING : refusedCertificate(code)
  if (target.tls)
    return (await answersWithoutTls(target, options.connectTimeoutMs))
      ? fail(
          'the port of REDIS_URL does not speak TLS',
          'Use the TLS port of Redis, or redis:// instead of rediss://.',
        )
      : undefined
  if (target.form !== 'cluster') return undefined
  const node = createRedisClient({ ...options, target: { ...target, form: 'standalone' } })
  node.on('error', () => {}) // the call below fails
  try {
    if (node.status !== 'ready')
      await once(node, 'ready', { signal: AbortSignal.timeout(options.connectTimeoutMs) })
    const info = String(await node.call('CLUSTER', 'INFO'))
    if (!/^cluster_state:fail/m.test(info)) return undefined
    return fail(
      'the cluster does not serve all slots',
      'Assign the missing slots or repair the nodes that have them (redis-cli --cluster check, then fix).',
    )
  } catch {
    return undefined // the caller says that Redis does not answer
  } finally {
    node.disconnect()
  }
}

/** An alert that Redis sends about the certificate of its client. With TLS 1.2, a missing one is a failed handshake. */
const CERTIFICATE_ALERT = /_ALERT_(\w*CERTIFICATE\w*|UNKNOWN_CA|HANDSHAKE_FAILURE)$/
const CERTIFICATE_MISSING = fail(
  'Redis requires a client certificate',
  'Set REDIS_CERT_FILE and REDIS_KEY_FILE to a certificate that Redis trusts, and its key.',
)
const refusedCertificate = (code: string) =>
  fail(
    `Redis refuses the client certificate (${code})`,
    'Look at the dates of REDIS_CERT_FILE, add its intermediate certificates, and let Redis trust its authority (tls-ca-cert-file).',
  )

async function answersWithoutTls({ addresses: [{ host, port }] }: RedisTarget, ms: number): Promise<boolean> {
  const socket = connect(port, host)
  try {
    socket.write('PING\r\n')
    const [reply] = await once(socket, 'data', { signal: AbortSignal.timeout(ms) })
    return /^[+-]/.test(String(reply))
  } catch {
    return false // no connection, or no reply
  } finally {
    socket.destroy()
  }
}
