import winston from 'winston'
import { BrokerError } from '../errors.ts'
import { AUDIT_EVENTS, type AuditEvent, type AuditFields } from './audit-events.ts'
import { bufferedStdout } from './buffered-stdout.ts'
import { failureFields } from './dependency-failure.ts'
import { describeError } from './describe-error.ts'
import { LOG_FIELDS, type LogFields } from './log-fields.ts'

/**
 * One event is one line of JSON: `{time, level, event, …fields}`. Fields that are not on the event's list (`log-fields.ts`,
 * `audit-events.ts`) are dropped. No body, cookie, token, password, code, link or login is ever written. Errors are described by name,
 * code and stack frames, never by message: a message may quote its input. The failure of a dependency is described by fields.
 *
 * error: an operator must act. warn: recovered by itself. info: one line a request. debug: local.
 */
export interface Logger {
  error(event: string, fields?: LogFields, error?: unknown): void
  warn(event: string, fields?: LogFields, error?: unknown): void
  info(event: string, fields?: LogFields): void
  debug(event: string, fields?: LogFields): void
  /** Who did what. Written at every level. */
  audit<Event extends AuditEvent>(event: Event, fields: AuditFields<Event>): void
}

export type LogLevel = 'error' | 'warn' | 'info' | 'debug'

export interface LoggerOptions {
  readonly level: LogLevel
  /** A longer text is cut at this length and marked with `…`. */
  readonly maxFieldChars: number
  /** Default: standard output. */
  readonly stream?: NodeJS.WritableStream
  readonly now?: () => number
}

export function createLogger(options: LoggerOptions): Logger {
  const { level, maxFieldChars, stream = bufferedStdout(), now = Date.now } = options
  const lines = winston.createLogger({
    level: 'debug',
    format: winston.format.printf((info) => String(info.message)),
    transports: [new winston.transports.Stream({ stream })],
  })

  const newLine = (lineLevel: LogLevel, event: string): Line => ({
    time: new Date(now()).toISOString(),
    level: lineLevel,
    event,
  })
  const write = (lineLevel: LogLevel, line: Line) => void lines.log(lineLevel, oneLine(JSON.stringify(line)))
  const logAt =
    (lineLevel: LogLevel) =>
    (event: string, fields: LogFields = {}, error?: unknown) => {
      if (RANK[lineLevel] > RANK[level]) return
      const line = newLine(lineLevel, event)
      addFields(line, fields, LOG_FIELDS, maxFieldChars)
      if (error !== undefined) addError(line, error, maxFieldChars)
      write(lineLevel, line)
    }

  return {
    error: logAt('error'),
    warn: logAt('warn'),
    info: logAt('info'),
    debug: logAt('debug'),
    audit(event, fields) {
      const line = newLine('info', event)
      addFields(line, fields, AUDIT_EVENTS[event].shape, maxFieldChars)
      line.audit = true
      write('info', line)
    },
  }
}

type Line = Record<string, unknown>

const RANK: Readonly<Record<LogLevel, number>> = { error: 0, warn: 1, info: 2, debug: 3 }

/** JSON escapes what is below U+0020; terminals and some readers act upon these as well. */
function oneLine(json: string): string {
  return json.replace(
    /[\u007f-\u009f\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** The failure of a dependency is described by fields; a stack would only say where in the broker it was noticed. */
function addError(line: Line, error: unknown, maxChars: number): void {
  if (!(error instanceof BrokerError)) {
    line.error = describeError(error)
    return
  }
  const failure = failureFields(error)
  addFields(line, failure, LOG_FIELDS, maxChars)
  if (failure.outcome === undefined) line.error = describeError(error.cause ?? error)
}

const LOGGABLE: ReadonlySet<string> = new Set(['string', 'number', 'boolean'])

/** Straight into the line: an object in between cost as much as the rest of the line. */
function addFields(line: Line, fields: Readonly<Line>, allowed: object, maxChars: number): void {
  for (const name in fields) {
    const value = Object.hasOwn(allowed, name) ? fields[name] : undefined
    if (!LOGGABLE.has(typeof value)) continue
    line[name] = typeof value === 'string' && value.length > maxChars ? `${value.slice(0, maxChars)}…` : value
  }
}
