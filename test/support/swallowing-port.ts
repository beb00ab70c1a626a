import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** Never accepts a connection: its event loop is blocked after it has printed the port. */
const LISTENER = `
  const server = require('node:net').createServer().listen({ port: 0, host: '127.0.0.2', backlog: 1 }, () => {
    require('node:fs').writeSync(1, String(server.address().port))
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  })`
const CONNECTED_WITHIN_MS = 300

/**
 * A port of 127.0.0.2 whose connection attempts get no answer, as behind a firewall that drops
 * packets: its queue is full.
 */
export async function openSwallowingPort() {
  const child = spawn(process.execPath, ['-e', LISTENER], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [printed] = await once(child.stdout, 'data')
  const port = Number(String(printed))
  const sockets: Socket[] = []
  const connects = async () => {
    const socket = connect(port, '127.0.0.2').on('error', () => {}) // destroyed while it connects
    sockets.push(socket)
    return Promise.race([once(socket, 'connect').then(() => true), delay(CONNECTED_WITHIN_MS, false)])
  }
  while (await connects());
  return {
    address: `127.0.0.2:${port}`,
    async close() {
      for (const socket of sockets) socket.destroy()
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}
