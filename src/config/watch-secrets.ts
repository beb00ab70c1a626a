import { stat } from 'node:fs/promises'
import type { Logger } from '../observability/logger.ts'
import type { SecretFile } from './env-reader.ts'

export interface WatchSecretFilesOptions {
  readonly config: { readonly secretFiles: readonly SecretFile[] }
  readonly log: Pick<Logger, 'info' | 'error'>
  readonly intervalMs: number
}

/**
 * Reloads changed secret files without a restart. Each interval, it compares the identity of every file (device, inode,
 * size, times) through symlinks, because Kubernetes replaces the whole folder. It reads a file after two checks with
 * the same identity, so that it does not read half-written files. A valid value replaces the old one
 * (`secret_reloaded`); an invalid one is logged once per change (`secret_reload_failed`).
 */
export function watchSecretFiles({ config, log, intervalMs }: WatchSecretFilesOptions): { stop(): void } {
  const checks = config.secretFiles.map((file) => createCheck(file, log))
  let isStopped = false
  let isChecking = false

  const timer = setInterval(async () => {
    if (isChecking) return
    isChecking = true
    for (const check of checks) await check(() => isStopped)
    isChecking = false
  }, intervalMs)
  timer.unref()

  return {
    stop() {
      isStopped = true
      clearInterval(timer)
    },
  }
}

/** The first check always leads to a reload: the file may have changed since the start. */
function createCheck(file: SecretFile, log: WatchSecretFilesOptions['log']) {
  let seen: string | undefined
  let loaded: string | undefined
  return async (isStopped: () => boolean): Promise<void> => {
    const identity = (await Promise.all(file.paths.map(identityOf))).join(' ')
    const isStable = identity === seen
    seen = identity
    if (isStopped() || !isStable || identity === loaded) return
    loaded = identity
    reload(file, log)
  }
}

function reload(file: SecretFile, log: WatchSecretFilesOptions['log']): void {
  const name = file.variables.join(', ')
  try {
    const { changed, problems } = file.reload()
    if (changed) log.info('secret_reloaded', { name })
    for (const problem of problems) log.error('secret_reload_failed', { name, reason: problem })
  } catch (error) {
    // the value is replaced, but a listener failed: an operator must look at it
    log.error('secret_reload_failed', { name, reason: 'a component failed to use the new value' }, error)
  }
}

async function identityOf(path: string): Promise<string> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true })
    return [dev, ino, size, mtimeNs, ctimeNs].join(':')
  } catch {
    return 'missing' // the reload reports the error
  }
}
