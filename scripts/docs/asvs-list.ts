import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { z } from 'zod'
import type { Requirement } from './shown-by-tests.ts'

/** How a requirement is met without a test, or why it is not met. */
export const NOTES = [
  'by construction',
  'documented',
  'not applicable',
  'the org',
  'the operator',
  'the page',
  'deviates',
] as const

const NOTE = z.string().min(1).optional()

const ROW = z.strictObject({
  /** A requirement, or a whole section or chapter: `V1.2.3`, `V1.2`, `V1`. */
  id: z.string().regex(/^V\d+(\.\d+){0,2}$/),
  text: z.string().min(1),
  'by construction': NOTE,
  documented: NOTE,
  'not applicable': NOTE,
  'the org': NOTE,
  'the operator': NOTE,
  'the page': NOTE,
  deviates: NOTE,
})

const LIST = z.array(z.strictObject({ heading: z.string().min(1), rows: z.array(ROW).min(1) })).min(1)

export type AsvsList = z.infer<typeof LIST>
export type AsvsRow = z.infer<typeof ROW>

export function readAsvsList(file = 'docs/asvs.yaml'): AsvsList {
  return parseAsvsList(parse(readFileSync(file, 'utf8')))
}

/** Throws, naming the field, if a row is incomplete. */
export function parseAsvsList(data: unknown): AsvsList {
  return LIST.parse(data)
}

export function asvsRequirements(list: AsvsList): Requirement[] {
  return list
    .flatMap(({ rows }) => rows)
    .map((row) => ({
      part: 'broker',
      id: row.id,
      test: NOTES.some((note) => row[note] !== undefined) ? 'optional' : 'needed',
    }))
}
