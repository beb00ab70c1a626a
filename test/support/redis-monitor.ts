import type { Redis } from 'ioredis'

/**
 * Monitors every command of a server. The client connects completely first: ioredis takes monitor output that arrives during its own
 * handshake for replies.
 */
export async function startMonitor(client: Redis): Promise<Redis> {
  await client.ping()
  return client.monitor()
}
