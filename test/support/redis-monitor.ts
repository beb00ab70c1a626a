import { EventEmitter, once } from 'node:events'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import type { Redis } from 'ioredis'

/**
 * Monitors every command of a server, as ioredis's `monitor()` does. That one takes a command which
 * another client sends during its own handshake for a reply, and fails.
 */
export async function startMonitor({ options }: Redis) {
  const socket = connect(options.port ?? 0, options.host)
  const monitor = Object.assign(new EventEmitter(), { disconnect: () => void socket.destroy() })
  socket.on('error', (error) => monitor.emit('error', error))
  const lines = createInterface({ input: socket })
  socket.write('MONITOR\r\n')
  await once(lines, 'line') // +OK
  lines.on('line', (line) => {
    const [, time, source, rest = ''] = /^\+([\d.]+) \[\d+ (\S+)\] (.*)$/.exec(line) ?? []
    if (time === undefined) throw new Error(`not a line of MONITOR: ${line.slice(0, 80)}`)
    const args = [...rest.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, word = '']) =>
      word.replace(/\\(["\\])/g, '$1'),
    )
    monitor.emit('monitor', time, args, source)
  })
  return monitor
}
