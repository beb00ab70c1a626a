import { z } from 'zod'

/** Schemas for values of Okta: the known ones have names, and new ones may come at any time. */

type Described = { readonly id?: string; readonly description?: string }

/** One of `known`, or another string. */
export function openEnum(known: readonly string[], described: Described = {}): z.ZodType {
  return z.union([z.enum(known), unknownValue(known)]).meta(described)
}

/**
 * An object whose member `name` says which of `members` it is, or `fallback` if the value is a new
 * one. The members are a union of their own with a discriminator, which knows no fallback. Each has
 * its values of `name` in an enum or literal; `fallback` has `unknownValue`.
 */
export function openUnion(
  name: string,
  members: readonly z.ZodObject[],
  fallback: z.ZodObject,
  { id, description }: { readonly id: string; readonly description?: string },
): z.ZodType {
  const mapping = Object.fromEntries(
    members.flatMap((member) =>
      valuesOf(member, name).map((value) => [value, `#/components/schemas/${member.meta()?.id}`]),
    ),
  )
  const known = z.union(members).meta({
    id: `Known${id}`,
    override: ({ jsonSchema }: { jsonSchema: { anyOf?: unknown } }) => {
      const { anyOf: oneOf } = jsonSchema
      delete jsonSchema.anyOf
      Object.assign(jsonSchema, { oneOf, discriminator: { propertyName: name, mapping } })
    },
  })
  return z.union([known, fallback]).meta({ id, ...(description && { description }) })
}

/**
 * Any string but the known ones. Type generators can see by the extension that no known value is
 * meant.
 */
export function unknownValue(
  known: readonly string[],
  description = 'A value that this document does not know.',
) {
  return z.string().meta({
    override: { type: 'string', minLength: 1, not: { enum: known }, 'x-unknown-value': true, description },
  })
}

/** The values of a member that is an enum or a literal. */
export function valuesOf(member: z.ZodObject, name: string): string[] {
  const schema: unknown = member.shape[name]
  if (schema instanceof z.ZodEnum) return schema.options.map(String)
  return schema instanceof z.ZodLiteral ? [...schema.values].map(String) : []
}
