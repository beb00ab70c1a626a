import { readFileSync } from 'node:fs'
import { z } from 'zod'

/**
 * Tests by their file, each as its title, with the titles of its groups before it and its row's
 * name after it.
 */
const TESTS = z
  .record(z.string().regex(/^test\/[\w/.-]+\.ts$/), z.array(z.string().min(1)).min(1))
  .refine((tests) => Object.keys(tests).length > 0, 'names no test')

/** The tests that show a fact, or a sentence that says why no test can. */
const PROOF = z.union([TESTS, z.string().min(1)])

const ROW = z.strictObject({ id: z.string(), text: z.string().min(1), sandbox: PROOF, broker: PROOF })

const SOURCE = z.strictObject({
  letter: z.string().regex(/^[A-Z]$/),
  title: z.string().min(1),
  /** The document that the facts come from, as a noun phrase. */
  source: z.string().min(1),
  sections: z.array(z.strictObject({ heading: z.string().min(1), rows: z.array(ROW).min(1) })).min(1),
})

export type Proof = z.infer<typeof PROOF>
export type ConformanceRow = z.infer<typeof ROW>
export type ConformanceSource = z.infer<typeof SOURCE>

export const PARTS = ['sandbox', 'broker'] as const

const FILES = ['authn-api', 'real-clients', 'pam-api', 'pam-rules']

/** The whole list, in the order of the page. */
export function readConformanceList(folder = 'docs/conformance'): ConformanceSource[] {
  return FILES.map((name) => parseSource(JSON.parse(readFileSync(`${folder}/${name}.json`, 'utf8'))))
}

/**
 * Throws, naming the field, if a row is incomplete: without a text, or without tests or a reason in
 * either part.
 */
export function parseSource(data: unknown): ConformanceSource {
  return SOURCE.parse(data)
}

export function rowsOf({ sections }: ConformanceSource): ConformanceRow[] {
  return sections.flatMap(({ rows }) => rows)
}
