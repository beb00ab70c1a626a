import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { DELIVERY_FAULT, FAULT_RULE } from 'gatehouse-sandbox/fault-rules'
import { factorSchema, PUSH_ANSWERS } from 'gatehouse-sandbox/sandbox-config'
import { z } from 'zod'
import { FORWARD_AUTH } from '../../openapi/session.ts'
import { FORWARD_AUTH_RULES, REASON } from '../../src/forward-auth/forward-auth-rules.ts'

/** Lists that a reader takes for complete. */

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const section = (page: string, title: string) =>
  read(page).split(`\n## ${title}\n`)[1]?.split('\n## ')[0] ?? ''

test('docs/applications.md has a row for each parameter of /forward-auth', () => {
  const rows = section('docs/applications.md', 'Rules').split('\n')
  const first = rows.filter((row) => row.startsWith('| `')).map((row) => row.split('|')[1] ?? '')
  const documented = first.flatMap((names) => [...names.matchAll(/`(\w+)=/g)].map(([, name]) => name))
  expect(documented.toSorted()).toEqual(Object.keys(FORWARD_AUTH_RULES.shape).toSorted())
})

test('docs/build-your-sign-in-page.md has a row for each reason of a refusal', () => {
  const rows = section('docs/build-your-sign-in-page.md', 'Other applications behind the proxy').split('\n')
  const first = rows.filter((row) => row.startsWith('| `')).map((row) => row.split('|')[1] ?? '')
  const documented = first.flatMap((names) => [...names.matchAll(/`reason=(\w+)`/g)].map(([, name]) => name))
  expect(documented.toSorted()).toEqual(REASON.unwrap().unwrap().options.toSorted())
})

test('openapi/session.ts names each parameter of /forward-auth in its description', () => {
  const description = FORWARD_AUTH.forwardAuth?.description ?? ''
  const named = [...description.matchAll(/`(\w+)/g)].map(([, name]) => name)
  expect(Object.keys(FORWARD_AUTH_RULES.shape).filter((name) => !named.includes(name))).toEqual([])
})

const Kind = z.object({
  properties: z.object({
    kind: z.object({ const: z.string().optional(), enum: z.array(z.string()).optional() }),
  }),
})

function kindsOf(schema: z.ZodType): string[] {
  const { oneOf, anyOf } = z.toJSONSchema(schema, { io: 'input' })
  const rules = z.array(Kind).parse(oneOf ?? anyOf)
  return rules.flatMap(({ properties: { kind } }) => kind.enum ?? kind.const ?? [])
}

test.each([
  ['requests', FAULT_RULE],
  ['deliveries', DELIVERY_FAULT],
])('every fault of %s is documented, and has a type for portals', (_of, schema) => {
  const kinds = kindsOf(schema)
  expect(kinds.length).toBeGreaterThan(4)
  const [documented, types] = [
    section('docs/sandbox.md', 'Faults'),
    read('sandbox/src/package/sandbox-api.ts'),
  ]
  for (const kind of kinds) {
    expect(documented).toContain(`\n| \`${kind}\` |`)
    expect(types).toContain(`'${kind}'`)
  }
})

const Fields = z.object({
  properties: z.record(z.string(), z.object({ enum: z.array(z.string()).optional() })),
})
/** Portals do not need them. */
const ONLY_CONFIGURED = ['allowReplay', 'returnsTo', 'tokenMode']

test('FactorDetails of sandbox-api.ts has each field of a factor in sandbox-config.ts, and its values', () => {
  const { properties } = Fields.parse(z.toJSONSchema(factorSchema, { io: 'input' }))
  const [, details = ''] = read('sandbox/src/package/sandbox-api.ts').split('interface FactorDetails {')
  const declared = (details.split('\n}')[0] ?? '').split('readonly ')
  const missing = Object.entries(properties).flatMap(([field, { enum: values = [] }]) => {
    const type = declared.find((text) => new RegExp(`^${field}\\b`).test(text))
    if (type === undefined) return ONLY_CONFIGURED.includes(field) ? [] : field
    if (field === 'type') return [] // any string
    return values.filter((value) => !type.includes(`'${value}'`)).map((value) => `${field}: ${value}`)
  })
  expect(missing).toEqual([])
})

test('docs/sandbox.md names each answer to a push', () => {
  const [, row = ''] = /^\| `POST \/users\/\{login\}\/push` .*: (.*) \|$/m.exec(read('docs/sandbox.md')) ?? []
  expect([...row.matchAll(/`(\w+)`/g)].map(([, answer]) => answer)).toEqual([...PUSH_ANSWERS])
})
