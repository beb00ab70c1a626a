import { writeFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'

// Loaded into every server under test (`node --import`): reports CPU time and memory over the IPC channel, and writes
// a CPU profile on request.
const inspector = new Session()

process.on('message', async (message) => {
  if (message === 'usage') {
    const { rss, heapUsed: heap } = process.memoryUsage()
    process.send({ usage: { cpu: process.cpuUsage(), rss, heap } })
  } else if (message === 'profile') {
    inspector.connect()
    await inspector.post('Profiler.enable')
    await inspector.post('Profiler.start')
    process.send({ profiling: true })
  } else if (typeof message?.profileTo === 'string') {
    const { profile } = await inspector.post('Profiler.stop')
    inspector.disconnect()
    writeFileSync(message.profileTo, JSON.stringify(profile))
    process.send({ profiling: false })
  }
})
process.channel?.unref()
