import { table } from './output.ts'

export interface RedisMemoryRow {
  readonly record: string
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
    rows.map(({ record, bytes, kept }) => [record, Math.round(bytes).toLocaleString('en'), kept]),
  )
}
