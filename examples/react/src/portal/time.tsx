import { clockTimeOf, timeOf } from '../language/language.ts'

interface TimeProps {
  readonly at: string
  /** Default: true. */
  readonly withDate?: boolean
}

export function Time({ at, withDate = true }: TimeProps) {
  return <time dateTime={at}>{withDate ? timeOf(at) : clockTimeOf(at)}</time>
}
