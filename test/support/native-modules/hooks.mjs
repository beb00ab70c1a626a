/**
 * Module hooks for `module.register` of Node's module loader: the transformer of jest.config.mjs
 * compiles TypeScript, and `@jest/globals` returns the functions of the current test file. Modules
 * that a mutant may change are loaded once for each mutant.
 */
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { createTransformer } from '@swc/jest'

let transformer

export function initialize(swcOptions) {
  transformer = createTransformer(swcOptions)
}

export async function resolve(specifier, context, nextResolve) {
  if (specifier === '@jest/globals')
    return { url: new URL('globals.mjs', import.meta.url).href, shortCircuit: true }
  const resolved = await nextResolve(specifier, context)
  const mutant = context.parentURL?.split('mutant=')[1]
  return mutant && resolved.url.endsWith('.ts')
    ? { ...resolved, url: `${resolved.url}?mutant=${mutant}` }
    : resolved
}

export async function load(url, context, nextLoad) {
  const { protocol, pathname } = new URL(url)
  if (protocol !== 'file:' || !pathname.endsWith('.ts')) return nextLoad(url, context)
  const path = fileURLToPath(url)
  const { code } = transformer.process(await readFile(path, 'utf8'), path, { supportsStaticESM: true })
  return { format: 'module', source: code, shortCircuit: true }
}
