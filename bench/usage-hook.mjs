// Loaded into every server under test (`node --import`): tells the bench what the process has used so far.
process.on('message', (message) => {
  if (message === 'usage')
    process.send({ usage: { cpu: process.cpuUsage(), rss: process.memoryUsage.rss() } })
})
process.channel?.unref()
