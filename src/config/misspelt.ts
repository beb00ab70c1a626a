import type { Environment } from './env-reader.ts'
import { isSecret, VARIABLES } from './variables.ts'

/**
 * Variables that are set, are none of ours and look so much like one of ours that somebody meant it. Only close
 * names count: a platform sets many variables of its own (Kubernetes `REDIS_PORT` for a service named redis), and
 * those must not keep the broker from starting. Nor does a name count when the one it resembles is set too.
 */
export function misspelt(env: Environment): string[] {
  const isSet = (key: string) => (env[key]?.trim() ?? '') !== ''
  return Object.keys(env)
    .filter((key) => isSet(key) && !KNOWN.has(key) && !FOREIGN.has(key))
    .flatMap((key) => {
      const plain = key.replace(/_FILE$/, '')
      if (key !== plain && NOT_SECRET.has(plain))
        return [`${key}: ${plain} is no secret and is not read from a file`]
      const meant = NAMES.find((name) => resembles(key, name))
      return meant === undefined || isSet(meant) ? [] : [`${key}: is not known; did you mean ${meant}?`]
    })
}

const SECRET_NAMES = VARIABLES.map(({ name }) => name).filter(isSecret)
const NAMES: readonly string[] = [
  ...VARIABLES.map(({ name }) => name),
  ...SECRET_NAMES.map((name) => `${name}_FILE`),
]
const KNOWN: ReadonlySet<string> = new Set(NAMES)
const NOT_SECRET: ReadonlySet<string> = new Set(
  VARIABLES.map(({ name }) => name).filter(
    (name) => !isSecret(name) && !['PORT', 'HOST', 'NODE_ENV'].includes(name),
  ),
)

/** Close to one of ours, but common for other reasons. */
const FOREIGN: ReadonlySet<string> = new Set(['HTTP_PROXY', 'GATEHOUSE_OPS_PORT'])
/** Programs read these in lower case too. */
const CONVENTIONAL_PROXY = /^(HTTPS|NO)_PROXY$/

function resembles(key: string, name: string): boolean {
  if (name.length < 7) return false // PORT, HOST: too many names are close to them
  if (key.replace(/^GATEHOUSE_/, '').toUpperCase() === name)
    return key !== name.toLowerCase() || !CONVENTIONAL_PROXY.test(name)
  return Math.abs(key.length - name.length) <= 2 && distance(key, name) <= (name.length < 10 ? 1 : 2)
}

/** How many letters to add, drop, change or swap with their neighbour (optimal string alignment). */
function distance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)]
  const at = (i: number, j: number) => rows[i]?.[j] ?? Number.POSITIVE_INFINITY
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    rows.push(row)
    for (let j = 1; j <= b.length; j++) {
      const change = a[i - 1] === b[j - 1] ? 0 : 1
      const swapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      row.push(
        Math.min(
          at(i - 1, j) + 1,
          at(i, j - 1) + 1,
          at(i - 1, j - 1) + change,
          swapped ? at(i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      )
    }
  }
  return at(a.length, b.length)
}
