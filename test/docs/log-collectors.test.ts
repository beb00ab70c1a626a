import { readFileSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import { z } from 'zod'
import { AUDIT_FIELD_NAMES, LOG_FIELD_TEXTS } from '../../scripts/docs/log-fields.ts'

const page = readFileSync('docs/log-collectors.md', 'utf8')
const rename = z.object({ rename: z.object({ field: z.string(), target_field: z.string() }) })

test('the pipeline for Elasticsearch renames fields as the table of fields says', () => {
  const [, json = ''] = /```json\n([\s\S]+?)```/.exec(page) ?? []
  const { processors } = z.object({ processors: z.array(z.unknown()) }).parse(JSON.parse(json))
  const renamed = processors.flatMap((one) => {
    const { success, data } = rename.safeParse(one)
    return success ? [[data.rename.field, data.rename.target_field]] : []
  })
  const ecs = Object.entries({ ...LOG_FIELD_TEXTS, ...AUDIT_FIELD_NAMES }).map(([name, text]) => [
    `gatehouse.${name}`,
    text.ecs,
  ])
  expect(renamed.length).toBeGreaterThan(10)
  expect(renamed.filter((pair) => !ecs.some((known) => String(known) === String(pair)))).toEqual([])
})

test('what Loki extracts are fields of log lines', () => {
  const [, expressions = ''] = /expressions = \{(.+)\}/.exec(page) ?? []
  const names = [...expressions.matchAll(/(\w+) = "(\w+)"/g)].flatMap(([, one = '', other = '']) => [
    one,
    other,
  ])
  expect(names.length).toBeGreaterThan(4)
  for (const name of names) expect(Object.keys(LOG_FIELD_TEXTS)).toContain(name)
})
