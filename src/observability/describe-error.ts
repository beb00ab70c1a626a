/** The log's description of an error: name, code, stack frames, and the same for its cause. */
export interface ErrorDescription {
  readonly name: string
  readonly code?: string | undefined
  readonly at?: readonly string[] | undefined
  readonly cause?: ErrorDescription | undefined
}

const MAX_DEPTH = 4
const MAX_FRAMES = 8

/** Without messages: those of parsers, clients and stores quote their input. */
export function describeError(error: unknown, depth = 0): ErrorDescription {
  if (!(error instanceof Error)) return { name: typeof error }
  const hasCause = error.cause !== undefined && depth < MAX_DEPTH
  return {
    name: error.name,
    code: 'code' in error && typeof error.code === 'string' ? error.code : undefined,
    at: depth === 0 ? framesOf(error) : undefined,
    cause: hasCause ? describeError(error.cause, depth + 1) : undefined,
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
