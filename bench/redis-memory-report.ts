import { table } from './page.ts'

export interface RedisMemoryRow {
  readonly what: string
  readonly bytes: number
  /** How long Redis keeps it. */
  readonly kept: string
}

export interface RedisMemoryResults {
  readonly at: string
  readonly rows: readonly RedisMemoryRow[]
}

/** For docs/operations.md. */
export function redisMemoryTable({ rows }: RedisMemoryResults): string {
  return table(
    ['record', 'bytes', 'kept for'],
    rows.map(({ what, bytes, kept }) => [what, Math.round(bytes).toLocaleString('en'), kept]),
  )
}
