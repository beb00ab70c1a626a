import { rename, writeFile } from 'node:fs/promises'

/**
 * Replaces a file atomically, as Kubernetes does. A file that is written in place is empty for a moment, and a broker that checks
 * every few milliseconds could read it then.
 */
export async function replaceFile(path: string, content: string): Promise<void> {
  const next = `${path}.next`
  await writeFile(next, content)
  await rename(next, path)
}
