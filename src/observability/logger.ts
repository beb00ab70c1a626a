import winston from 'winston'
import { BrokerError } from '../errors.ts'
import { type AuditEvent, type AuditFields, ownFields } from './audit-events.ts'
import { failureFields } from './dependency-failure.ts'
import { describeError } from './describe-error.ts'
import { isLogField, type LogFields } from './log-fields.ts'
import { turnOutput } from './turn-output.ts'

/**
 * JSON lines, one event a line: `{time, level, event, …fields}`. Fields come from an allow-list (`log-fields.ts`);
 * anything else is dropped. No body, cookie, token, password, code, link or login ever. Errors are described by
 * name, code and stack frames, never by message: messages quote what they were given. Trouble of a dependency is
 * described by the fields of `dependency-trouble.ts`.
 *
 * error = someone must act · warn = healed itself · info = one line a request · debug = local.
 */
export interface Logger {
  error(event: string, fields?: LogFields, error?: unknown): void
  warn(event: string, fields?: LogFields, error?: unknown): void
  info(event: string, fields?: LogFields): void
  debug(event: string, fields?: LogFields): void
  /** Who did what: `audit-events.ts`; written whatever the level. */
  audit<Event extends AuditEvent>(event: Event, fields: AuditFields<Event>): void
}

export type LogLevel = 'error' | 'warn' | 'info' | 'debug'

export interface LoggerOptions {
  readonly level: LogLevel
  /** A longer text is cut there and marked with `…`. */
  readonly maxFieldChars: number
  /** Where lines go; standard output unless told otherwise. */
  readonly stream?: NodeJS.WritableStream
  readonly now?: () => number
}

export function createLogger(options: LoggerOptions): Logger {
  const { level, maxFieldChars, stream = turnOutput(), now = Date.now } = options
  const lines = winston.createLogger({
    level: 'debug',
    format: winston.format.printf((info) => String(info.message)),
    transports: [new winston.transports.Stream({ stream })],
  })
  const rank = RANK[level]

  const write = (lineLevel: LogLevel, event: string, fields: LogFields, error?: unknown) => {
    const line: Record<string, unknown> = { time: new Date(now()).toISOString(), level: lineLevel, event }
    addAllowed(line, fields, maxFieldChars)
    if (error !== undefined) addError(line, error, maxFieldChars)
    lines.log(lineLevel, oneLine(JSON.stringify(line)))
  }
  const writeFrom =
    (lineLevel: LogLevel) =>
    (event: string, fields: LogFields = {}, error?: unknown) => {
      if (RANK[lineLevel] <= rank) write(lineLevel, event, fields, error)
    }

  return {
    error: writeFrom('error'),
    warn: writeFrom('warn'),
    info: writeFrom('info'),
    debug: writeFrom('debug'),
    audit: (event, fields) => write('info', event, { ...ownFields(event, fields), audit: true }),
  }
}

const RANK: Readonly<Record<LogLevel, number>> = { error: 0, warn: 1, info: 2, debug: 3 }

/** JSON escapes what is below U+0020; terminals and some readers act upon these as well. */
function oneLine(json: string): string {
  return json.replace(
    /[\u007f-\u009f\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** Trouble of a dependency is told by fields; a stack would say only where in our code it was met. */
function addError(line: Record<string, unknown>, error: unknown, maxChars: number): void {
  if (!(error instanceof BrokerError)) {
    line.error = describeError(error)
    return
  }
  const failure = failureFields(error)
  addAllowed(line, failure, maxChars)
  if (failure.outcome === undefined) line.error = describeError(error.cause ?? error)
}

const LOGGABLE: ReadonlySet<string> = new Set(['string', 'number', 'boolean'])

/** Straight into the line: an object in between cost as much as the rest of the line. */
function addAllowed(line: Record<string, unknown>, fields: LogFields, maxChars: number): void {
  for (const name in fields) {
    const value: unknown = isLogField(name) ? fields[name] : undefined
    if (!LOGGABLE.has(typeof value)) continue
    line[name] = typeof value === 'string' && value.length > maxChars ? `${value.slice(0, maxChars)}…` : value
  }
}
