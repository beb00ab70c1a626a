// Loaded into every server under test (`node --import`): reports CPU time and memory over the IPC
// channel.
process.on('message', (message) => {
  const { user, system } = process.cpuUsage()
  if (message === 'cpuUs') process.send({ cpuUs: user + system })
  if (message === 'memoryMb') process.send({ memoryMb: process.memoryUsage.rss() / 1_048_576 })
})
process.channel?.unref()
