/** The log's description of an error: name, code, stack frames, and the same for its cause. */
export interface ErrorDescription {
  readonly name: string
  readonly code?: string
  readonly at?: readonly string[]
  readonly cause?: ErrorDescription
}

const MAX_DEPTH = 4
const MAX_FRAMES = 8

/** Without messages: those of parsers, clients and stores quote their input. */
export function describeError(error: unknown, depth = 0): ErrorDescription {
  if (!(error instanceof Error)) return { name: typeof error }
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined
  const cause =
    error.cause === undefined || depth >= MAX_DEPTH ? undefined : describeError(error.cause, depth + 1)
  return {
    name: error.name,
    ...(code === undefined ? {} : { code }),
    ...(depth === 0 ? { at: framesOf(error) } : {}),
    ...(cause === undefined ? {} : { cause }),
  }
}

const FRAME = /^\s+at .*(:\d+:\d+|<anonymous>|native)\)?$/

/** Removes the message from the stack first, because its lines may look like frames. */
function framesOf({ stack = '', message }: Error): string[] {
  return stack
    .replace(message, '')
    .split('\n')
    .filter((line) => FRAME.test(line))
    .slice(0, MAX_FRAMES)
    .map((line) => line.trim())
}
