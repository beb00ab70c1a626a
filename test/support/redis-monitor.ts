import type { Redis } from 'ioredis'

/**
 * Listens to every command of a server from now on. The client says hello first: its own greetings would otherwise be told
 * before the library expects to be told anything, and it takes them for answers.
 */
export async function startMonitor(client: Redis): Promise<Redis> {
  await client.ping()
  return client.monitor()
}
