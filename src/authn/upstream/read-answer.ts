import { isUserId } from '../../session/user-id.ts'
import type { Answer, AnsweredUser } from '../transaction/answer.ts'
import { factorName } from '../transaction/enrolment.ts'

/** Takes out of an upstream answer what the rules look at. Nothing is assumed: a wrong type or form counts as missing. */
export function readAnswer(body: Readonly<Record<string, unknown>>): Answer {
  const embedded = record(body._embedded)
  return {
    status: text(body.status) ?? '',
    factorResult: text(body.factorResult),
    stateToken: nonEmpty(body.stateToken),
    sessionToken: nonEmpty(body.sessionToken),
    type: text(body.type),
    user: readUser(embedded.user),
    factorTypes: readFactorTypes(embedded),
    activeFactors: readActiveFactors(embedded),
    expiresAt: text(body.expiresAt),
  }
}

function readUser(value: unknown): AnsweredUser | undefined {
  const { id, profile } = record(value)
  return isUserId(id) ? { id, profile: record(profile) } : undefined
}

function readFactorTypes(embedded: Readonly<Record<string, unknown>>): Record<string, string> {
  const types: Record<string, string> = {}
  for (const factor of factorsIn(embedded)) {
    const id = nonEmpty(factor.id)
    const type = factorTypeOf(factor)
    if (id !== undefined && type !== undefined) types[id] = type
  }
  return types
}

function readActiveFactors({ factors }: Readonly<Record<string, unknown>>): string[] {
  return [factors]
    .flat()
    .map(record)
    .flatMap((factor) => {
      const type = factorTypeOf(factor)
      const isActive = type !== undefined && factor.status === 'ACTIVE'
      return isActive ? [factorName(type, nonEmpty(factor.provider))] : []
    })
}

const MAX_TYPE_CHARS = 128

function factorTypeOf({ factorType }: Readonly<Record<string, unknown>>): string | undefined {
  const type = nonEmpty(factorType)
  return type === undefined || type.length > MAX_TYPE_CHARS ? undefined : type
}

/**
 * Clients see the list as `factors`, the specification says `factor`, which is elsewhere one object: all count. In
 * `factorTypes` a type stands for every factor of it, and in paths for their id.
 */
export function factorsIn({ factors, factor, factorTypes }: Readonly<Record<string, unknown>>) {
  const types = [factorTypes].flat().map(record)
  return [
    ...[factors, factor].flat().map(record),
    ...types.map((type): Readonly<Record<string, unknown>> => ({ ...type, id: type.factorType })),
  ]
}

export function record(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {}
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function nonEmpty(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
