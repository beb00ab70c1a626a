import { rename, writeFile } from 'node:fs/promises'

/**
 * Puts a file in the place of another in one step, as a careful operator and Kubernetes do. Written in place it is
 * empty for a moment, and on a slow machine that moment is long enough for a broker that looks every few milliseconds.
 */
export async function replaceFile(path: string, content: string): Promise<void> {
  const next = `${path}.next`
  await writeFile(next, content)
  await rename(next, path)
}
