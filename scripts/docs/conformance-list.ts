import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { z } from 'zod'
import type { Part, Requirement } from './shown-by-tests.ts'

const REASON = z.string().min(1)

const ROW = z.strictObject({
  id: z.string().regex(/^[A-Z]-\d+\.\d+$/),
  text: z.string().min(1),
  /** Why no test of the sandbox or of the broker can show the row. */
  'no sandbox test': REASON.optional(),
  'no broker test': REASON.optional(),
})

const SOURCE = z
  .strictObject({
    letter: z.string().regex(/^[A-Z]$/),
    title: z.string().min(1),
    /** The document that the facts come from, as a noun phrase. */
    source: z.string().min(1),
    sections: z
      .array(
        z.strictObject({
          id: z.string().regex(/^[A-Z]-\d+$/),
          heading: z.string().min(1),
          rows: z.array(ROW).min(1),
        }),
      )
      .min(1),
  })
  .refine(
    ({ letter, sections }) =>
      sections.every(
        ({ id, rows }) => id.startsWith(`${letter}-`) && rows.every((row) => row.id.startsWith(`${id}.`)),
      ),
    'an id does not begin with that of its section, or a section’s with the letter',
  )

export type ConformanceRow = z.infer<typeof ROW>
export type ConformanceSource = z.infer<typeof SOURCE>

export const PARTS = ['sandbox', 'broker'] as const

const FILES = ['authn-api', 'real-clients', 'pam-api', 'pam-rules']

/** The whole list, in the order of the page. */
export function readConformanceList(folder = 'docs/conformance'): ConformanceSource[] {
  return FILES.map((name) => parseSource(parse(readFileSync(`${folder}/${name}.yaml`, 'utf8'))))
}

/** Throws, naming the field, if a row is incomplete or has an id of another section. */
export function parseSource(data: unknown): ConformanceSource {
  return SOURCE.parse(data)
}

export function rowsOf({ sections }: ConformanceSource): ConformanceRow[] {
  return sections.flatMap(({ rows }) => rows)
}

/** Why no test of a part can show the row. undefined: one can. */
export function whyNoTest(row: ConformanceRow, part: Part): string | undefined {
  return row[`no ${part} test`]
}

export function conformanceRequirements(sources: readonly ConformanceSource[]): Requirement[] {
  return sources.flatMap(rowsOf).flatMap((row) =>
    PARTS.map((part) => ({
      part,
      id: row.id,
      test: whyNoTest(row, part) === undefined ? 'needed' : 'impossible',
    })),
  )
}
