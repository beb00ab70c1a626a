import { timeOf } from '../language/language.ts'

export function Time({ at }: { readonly at: string }) {
  return <time dateTime={at}>{timeOf(at)}</time>
}
