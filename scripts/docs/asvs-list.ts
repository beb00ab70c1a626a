import { readFileSync } from 'node:fs'
import { z } from 'zod'

/** How a requirement is met without a test, or why it is not met. */
const NOTES = [
  'by construction',
  'documented',
  'not applicable',
  'the org',
  'the operator',
  'the page',
  'deviates',
] as const

const ROW = z
  .strictObject({
    /** A requirement, or a whole section or chapter: `V1.2.3`, `V1.2`, `V1`. */
    id: z.string().regex(/^V\d+(\.\d+){0,2}$/),
    text: z.string().min(1),
    notes: z.partialRecord(z.enum(NOTES), z.string().min(1)).default({}),
    /** Test titles by file: "group › title › row of its table". */
    tests: z
      .record(z.string().regex(/^test\/[\w/.-]+\.test\.ts$/), z.array(z.string().min(1)).min(1))
      .default({}),
  })
  .refine(
    ({ notes, tests }) => Object.keys(notes).length + Object.keys(tests).length > 0,
    'names neither a test nor a reason',
  )

const LIST = z.strictObject({
  chapters: z.array(z.strictObject({ heading: z.string().min(1), rows: z.array(ROW).min(1) })).min(1),
})

export type AsvsList = z.infer<typeof LIST>
export type AsvsRow = z.infer<typeof ROW>

/** Throws, naming the field, if a row is incomplete. */
export function readAsvsList(file = 'docs/asvs.json'): AsvsList {
  return LIST.parse(JSON.parse(readFileSync(file, 'utf8')))
}
