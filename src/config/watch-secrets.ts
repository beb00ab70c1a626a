import { stat } from 'node:fs/promises'
import type { SecretFile } from './env-reader.ts'

/** What the logger of the house offers, as far as it is needed here. */
export interface SecretLog {
  info(event: string, fields: { readonly name: string }): void
  error(event: string, fields: { readonly name: string; readonly reason: string }, error?: unknown): void
}

export interface WatchSecretFilesOptions {
  readonly config: { readonly secretFiles: readonly SecretFile[] }
  readonly log: SecretLog
  readonly intervalMs: number
}

/**
 * Takes over changed secret files without a restart. Each interval every file's identity (device, inode, size,
 * times) is looked at through symlinks, so that Kubernetes' swap of a whole folder is seen too. A change counts
 * once the file has kept still for one interval: half-written files are not read. Sound content is swapped in and
 * logged as `secret_reloaded`; for bad content the old value stays and `secret_refused` names the variable and
 * why, once a change. Any secret of the configuration can come from a file: AUTHN_API_TOKEN, PAM_KEY_ID,
 * PAM_KEY_SECRET, SECRET_KEYS, OPS_TOKEN, REDIS_URL. Whether a new value has an effect at once is up to who holds
 * the `Secret`: it must ask `current()` each time or listen with `onChange`.
 */
export function watchSecretFiles({ config, log, intervalMs }: WatchSecretFilesOptions): { stop(): void } {
  const watched = config.secretFiles.map((file) => watchOne(file, log))
  let stopped = false
  let looking = false

  const timer = setInterval(async () => {
    if (looking) return
    looking = true
    for (const look of watched) await look(() => stopped)
    looking = false
  }, intervalMs)
  timer.unref()

  return {
    stop() {
      stopped = true
      clearInterval(timer)
    },
  }
}

/** The first look reads once in any case: the file may have changed since the start. */
function watchOne(file: SecretFile, log: SecretLog): (isStopped: () => boolean) => Promise<void> {
  let seen: string | undefined
  let taken: string | undefined
  return async (isStopped) => {
    const identity = (await Promise.all(file.paths.map(identityOf))).join(' ')
    const isStill = identity === seen
    seen = identity
    if (isStopped() || !isStill || identity === taken) return
    taken = identity
    takeOver(file, log)
  }
}

function takeOver(file: SecretFile, log: SecretLog): void {
  const name = file.variables.join(', ')
  try {
    const { changed, problems } = file.reload()
    if (changed) log.info('secret_reloaded', { name })
    for (const problem of problems) log.error('secret_refused', { name, reason: problem })
  } catch (error) {
    // The value is swapped, but somebody who listens could not follow: for people to look at.
    log.error('secret_refused', { name, reason: 'a part of the broker did not take the new value' }, error)
  }
}

async function identityOf(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true })
    return [dev, ino, size, mtimeNs, ctimeNs].join(':')
  } catch {
    return 'missing' // reading it says why
  }
}
