import { once } from 'node:events'
import { connect } from 'node:net'
import { createRedisClient } from '../store/redis-client.ts'
import type { RedisTarget } from '../store/redis-url.ts'
import { type Finding, fail } from './check.ts'

/** Looks for the reason if a client has not reached Redis. Sends no password over a connection without TLS. */
export async function explainUnreachable(
  target: RedisTarget,
  limits: { readonly commandTimeoutMs: number; readonly connectTimeoutMs: number },
  ca: string | undefined,
): Promise<Finding | undefined> {
  if (target.tls)
    return (await answersWithoutTls(target, limits.connectTimeoutMs))
      ? fail(
          'the port of REDIS_URL does not speak TLS',
          'Use the TLS port of Redis, or redis:// instead of rediss://.',
        )
      : undefined
  if (target.form !== 'cluster') return undefined
  const node = createRedisClient({ target: { ...target, form: 'standalone' }, ...(ca && { ca }), ...limits })
  node.on('error', () => {}) // the call below fails
  try {
    if (node.status !== 'ready')
      await once(node, 'ready', { signal: AbortSignal.timeout(limits.connectTimeoutMs) })
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
