import { bodyOf, type Json, list, type Operation, operations, record, text } from './api-document.js'

/** A link of an answer. */
export interface Link {
  readonly href: string
  readonly method: string
  /** Such as `verify`, or `poll` for a link `next`. */
  readonly name: string
  readonly factor: Json
}

/** The operation of a link. */
export interface Target {
  readonly operation: Operation
  /** Of the path and the query. */
  readonly parameters: Readonly<Record<string, string>>
}

/** The links in an answer, each with the factor that it belongs to. */
export function linksIn(value: unknown, key = '', factor: Json = {}): Link[] {
  if (Array.isArray(value)) return value.flatMap((one) => linksIn(one, key, factor))
  const { href, hints, name, ...rest } = record(value)
  if (typeof href === 'string') {
    const method = text(list(record(hints).allow)[0]) || 'GET'
    return [{ href, method, name: [key, text(name)].filter(Boolean).join(': '), factor }]
  }
  const owner = typeof rest.factorType === 'string' ? rest : record(record(rest._embedded).factor)
  const own = typeof owner.factorType === 'string' ? owner : factor
  return Object.entries(record(value)).flatMap(([name, one]) => linksIn(one, name, own))
}

/** undefined for an address of another origin, and for one that the document does not have. */
export function targetOf({ href, method }: Link): Target | undefined {
  const url = new URL(href, location.origin)
  if (url.origin !== location.origin) return undefined
  const byLiterals = operations().toSorted(
    (one, other) => one.path.split('{').length - other.path.split('{').length,
  )
  for (const operation of byLiterals) {
    const pattern = operation.path.replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')
    const found = operation.method === method ? new RegExp(`^${pattern}$`).exec(url.pathname) : null
    if (found === null) continue
    const inPath = Object.entries(found.groups ?? {}).map(([name, one]) => [name, decodeURIComponent(one)])
    return { operation, parameters: Object.fromEntries([...url.searchParams, ...inPath]) }
  }
  return undefined
}

/** The body that suits the link. It is complete if it needs no input. */
export function bodyFor({ name, factor }: Link, operation: Operation): { value: Json; isComplete: boolean } {
  const body = bodyOf(operation)
  const schema = record(body?.schema)
  const all = Object.values(record(body?.examples)).map(record)
  const { factorType, provider } = factor
  const example = all.find((one) => one.factorType === factorType) ?? all[0] ?? {}
  const required = list(schema.required).map(text)
  const field = fieldOf(name, text(factorType))
  const wanted = [...required, ...(field === undefined ? ['profile'] : [field])]
  const members = Object.keys(record(schema.properties)).filter((one) => wanted.includes(one))
  const known: Json = {
    ...example,
    factorType,
    provider,
    profile: profileFor(text(factorType)) ?? example.profile,
  }
  const value = Object.fromEntries(members.map((one) => [one, one === field ? '' : known[one]]))
  const isComplete = Object.entries(value).every(
    ([one, it]) => it === undefined || WITHOUT_INPUT.includes(one),
  )
  return { value, isComplete }
}

/** Members of a body that need no input. */
const WITHOUT_INPUT = ['stateToken', 'factorType', 'provider']

function profileFor(factorType: string): Json | undefined {
  if (factorType === 'sms' || factorType === 'call') return { phoneNumber: '+15550107777' }
  return factorType === 'question' ? { question: 'favorite_toy', answer: 'a top' } : undefined
}

/** The member for the input of the user; undefined if the factor is challenged or polled. */
function fieldOf(name: string, factorType: string): string | undefined {
  if (name === 'enroll') return /^token(:hardware)?$/.test(factorType) ? 'passCode' : undefined
  if (factorType === 'question') return 'answer'
  if (factorType === 'password') return 'password'
  const isSent = ['sms', 'call', 'email'].includes(factorType) && /^next: (verify|activate)$/.test(name)
  return isSent || factorType.startsWith('token') ? 'passCode' : undefined
}
