import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { readBy } from './plain-values.ts'

/**
 * The settings in `config/default.json`: no secrets, each with its unit in its name, grouped by
 * module.
 */
export type Tunables = z.infer<typeof SHAPE>

const count = z.int().min(1).max(1_000_000)
const ms = z.int().min(1).max(86_400_000)
const msOrNone = z.int().min(0).max(86_400_000)
const minutes = z.int().min(1).max(1440)

/** A window, and windows that apply together (docs/configuration.md#limits). */
const limit = z.strictObject({ attempts: count, perSeconds: z.int().min(1).max(2_592_000) })
const windows = z.strictObject({ burst: limit, sustained: limit })
/**
 * With 40 on known devices, at most 100 failures in a row for an account (NIST SP 800-63B-4,
 * section 3.2.2).
 */
const inARow = limit.extend({ attempts: z.int().min(1).max(60) })

const UPSTREAM = z.strictObject({ totalTimeoutMs: ms, maxConnections: count })

const lists = z
  .strictObject({ freshMs: msOrNone, staleMs: msOrNone, onErrorMs: msOrNone, meOnErrorMs: msOrNone })
  .refine(
    ({ freshMs, staleMs, onErrorMs, meOnErrorMs }) =>
      freshMs <= staleMs && staleMs <= onErrorMs && freshMs <= meOnErrorMs,
    'must have freshMs <= staleMs <= onErrorMs, and freshMs <= meOnErrorMs',
  )

const SHAPE = z
  .strictObject({
    http: z.strictObject({
      maxConnections: count,
      maxRequestsInFlight: count,
      keepAliveTimeoutMs: ms,
      readinessLeadMs: msOrNone,
      shutdownGraceMs: ms,
    }),
    upstream: z.strictObject({ authn: UPSTREAM, pam: UPSTREAM }),
    session: z.strictObject({ maxPerUser: count, recentSignInMinutes: count }),
    store: z.strictObject({ connectTimeoutMs: ms, commandTimeoutMs: ms }),
    pam: z.strictObject({ lists }),
    recovery: z.strictObject({
      recoveryAnswerMs: msOrNone,
      challengeMinutes: minutes,
      resendAfterMs: ms,
      maxWrongCodes: count,
    }),
    limits: z.strictObject({
      stepUpPerAddress: limit,
      call: z.strictObject({ perAddress: windows }),
      password: z.strictObject({ perUser: windows.extend({ inARow }) }),
      token: z.strictObject({ perAddress: windows }),
      message: z.strictObject({ perAddress: windows }),
      recovery: z.strictObject({ perAddress: windows }),
    }),
  })
  .refine(
    ({ http, upstream }) => http.shutdownGraceMs >= http.readinessLeadMs + upstream.authn.totalTimeoutMs,
    {
      path: ['http', 'shutdownGraceMs'],
      error: 'leaves no time for a running upstream call after http.readinessLeadMs',
    },
  )

/** The defaults with the changes of `CONFIG_FILE`. */
export const changedTunables = readBy((text) => {
  JSON.parse(text)
  return text
}, 'is not JSON')
  .pipe(readBy(parseWithoutRepeatedNames))
  .transform((changes) => merge(readDefaults(), changes))
  .pipe(SHAPE)

/** `JSON.parse` would use the last one, and say nothing. */
function parseWithoutRepeatedNames(json: string): unknown {
  const path = repeatedName(json)
  if (path !== undefined) throw new Error(`${path}: is given twice`)
  return JSON.parse(json)
}

/** The path of a name that an object has twice. */
function repeatedName(json: string): string | undefined {
  const open: { readonly path: string; readonly names: Set<string> }[] = []
  let path = ''
  for (const [token, text, colon] of json.matchAll(/("(?:[^"\\]|\\.)*")(\s*:)?|[{}[\]]/g)) {
    const parent = open.at(-1)
    if (token === '{' || token === '[') open.push({ path, names: new Set() })
    else if (token === '}' || token === ']') open.pop()
    else if (text !== undefined && colon !== undefined && parent !== undefined) {
      const name = String(JSON.parse(text))
      path = parent.path === '' ? name : `${parent.path}.${name}`
      if (parent.names.has(name)) return path
      parent.names.add(name)
    }
  }
  return undefined
}

export const defaultTunables = (): Tunables => changedTunables.parse('{}')

const readDefaults = (): unknown =>
  JSON.parse(readFileSync(new URL('../../config/default.json', import.meta.url), 'utf8'))

function merge(defaults: unknown, changes: unknown): unknown {
  if (!isGroup(defaults) || !isGroup(changes)) return changes
  const merged = Object.entries(changes).map(([name, value]) => [name, merge(defaults[name], value)])
  return { ...defaults, ...Object.fromEntries(merged) }
}

const isGroup = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
