import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { freePort, makeDirectory, removeDirectory, startProcess } from './redis-process.ts'
import { until } from './until.ts'

/** A calendar server of Debian that takes the user from the header `X-Remote-User`. */
export interface Radicale {
  readonly port: number
  /** The users who have calendars, as it has stored their names. */
  users(): readonly string[]
  stop(): Promise<void>
}

/** On a free port, with its own files and without the configuration of the machine. */
export async function startRadicale(): Promise<Radicale> {
  const directory = makeDirectory()
  const port = await freePort()
  const options = {
    '--config': '',
    '--server-hosts': `127.0.0.1:${port}`,
    '--auth-type': 'http_x_remote_user',
    '--storage-filesystem-folder': directory,
  }
  const running = startProcess(Object.entries(options).flat(), directory, 'radicale')
  const stop = async () => {
    await running.end()
    removeDirectory(directory)
  }
  await until(async () => running.hasEnded() || (await answers(port)), { what: 'radicale' })
  if (running.hasEnded()) {
    const log = running.log()
    await stop()
    throw new Error(`radicale did not start: ${log}`)
  }
  return { port, users: () => readdirSync(join(directory, 'collection-root')), stop }
}

const answers = (port: number) =>
  fetch(`http://127.0.0.1:${port}/`, { method: 'HEAD', redirect: 'manual' }).then(
    () => true,
    () => false,
  )
