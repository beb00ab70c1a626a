import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/**
 * An address that leads each new connection to another server, as a name with several addresses or
 * a load balancer does.
 */
export interface Forwarder {
  /** Of 127.0.0.1. */
  readonly port: number
  /** New connections go to these ports of 127.0.0.1, in turn. */
  lead(ports: readonly number[]): void
  /** How many connections were accepted. */
  accepted(): number
  stop(): Promise<void>
}

export interface ForwarderOptions {
  /** Changes what a client sends, to the same length. */
  readonly request?: (sent: string) => string
  /** Changes what the server sends, to the same length. */
  readonly reply?: (sent: string) => string
}

export async function startForwarder(
  ports: readonly number[],
  { request = (sent) => sent, reply = (sent) => sent }: ForwarderOptions = {},
): Promise<Forwarder> {
  let targets = ports
  let accepted = 0
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const target = connect(targets[accepted % targets.length] ?? 0, '127.0.0.1')
    accepted += 1
    client.on('data', (chunk) => target.write(request(chunk.toString('latin1')), 'latin1'))
    target.on('data', (chunk) => client.write(reply(chunk.toString('latin1')), 'latin1'))
    for (const socket of [client, target]) {
      sockets.add(socket)
      socket.on('error', () => {}) // one side has closed, so the other is closed too
      socket.once('close', () => {
        sockets.delete(socket)
        client.destroy()
        target.destroy()
      })
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port, // it listens on TCP
    lead(next) {
      targets = next
    },
    accepted: () => accepted,
    async stop() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/**
 * As in front of a Redis whose configuration renames a command away: the error is that of the real
 * server.
 */
export function withoutCommand(name: string): Required<ForwarderOptions> {
  const other = name.replace(/.$/, '0')
  return {
    request: (sent) => sent.replaceAll(`\r\n${name}\r\n`, `\r\n${other}\r\n`),
    reply: (sent) => sent.replaceAll(other, name),
  }
}
