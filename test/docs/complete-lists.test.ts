import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { DELIVERY_FAULT, FAULT_RULE } from 'gatehouse-sandbox/fault-rules'
import { z } from 'zod'
import { FORWARD_AUTH_RULES } from '../../src/forward-auth/forward-auth-rules.ts'

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
