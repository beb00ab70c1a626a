import { LRUCache } from 'lru-cache'
import winston from 'winston'
import { BrokerError } from '../errors.ts'
import { AUDIT_EVENTS, type AuditEvent, type AuditFields } from './audit-events.ts'
import { bufferedStdout } from './buffered-stdout.ts'
import { failureFields } from './dependency-failure.ts'
import { describeError } from './describe-error.ts'
import type { LogEvent, LogLevel } from './log-events.ts'
import { LOG_FIELDS, type LogFields } from './log-fields.ts'
import { VERSION } from './version.ts'

/**
 * Each event is one line of JSON: `{time, level, service, version, event, …fields}`. Fields that are not on the event's
 * list (`log-fields.ts`, `audit-events.ts`) are dropped. No body, cookie, token, password, code, link or login is ever
 * written. Errors are described by name, code and stack frames, never by message: a message may quote its input.
 *
 * error: an operator must act. warn: the broker recovers without help. info: one line per request, and changes of state.
 * debug: for development.
 */
export interface Logger {
  error(event: LogEvent<'error'>, fields?: LogFields, error?: unknown): void
  warn(event: LogEvent<'warn'>, fields?: LogFields, error?: unknown): void
  info(event: LogEvent<'info'>, fields?: LogFields): void
  debug(event: LogEvent<'debug'>, fields?: LogFields): void
  /** Written at every log level. */
  audit<Event extends AuditEvent>(event: Event, fields: AuditFields<Event>): void
  /** From now on, every line with this request id also has this W3C trace id. */
  setTrace(requestId: string, traceId: string): void
}

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
  const traceIds = new LRUCache<string, string>({ maxSize: MAX_TRACES, sizeCalculation: () => 1 })
  const lines = winston.createLogger({
    level: 'debug',
    format: winston.format.printf((info) => String(info.message)),
    transports: [new winston.transports.Stream({ stream })],
  })

  const write = (lineLevel: LogLevel, event: string, fields: Line) => {
    const traceId = typeof fields.requestId === 'string' ? traceIds.get(fields.requestId) : undefined
    if (traceId !== undefined) fields.trace_id = traceId
    const head = `{"time":"${new Date(now()).toISOString()}","level":"${lineLevel}",${SERVICE},"event":"${event}"`
    const rest = JSON.stringify(fields).slice(1)
    lines.log(lineLevel, oneLine(rest === '}' ? head + rest : `${head},${rest}`))
  }
  const logAt =
    <Level extends LogLevel>(lineLevel: Level) =>
    (event: LogEvent<Level>, fields: LogFields = {}, error?: unknown) => {
      if (RANK[lineLevel] > RANK[level]) return
      const line: Line = {}
      addFields(line, fields, LOG_FIELDS, maxFieldChars)
      if (error !== undefined) addError(line, error, maxFieldChars)
      write(lineLevel, String(event), line)
    }

  return {
    error: logAt('error'),
    warn: logAt('warn'),
    info: logAt('info'),
    debug: logAt('debug'),
    audit(event, fields) {
      const line: Line = {}
      addFields(line, fields, AUDIT_EVENTS[event].shape, maxFieldChars)
      line.audit = true
      write('info', event, line)
    },
    setTrace: (requestId, traceId) => void traceIds.set(requestId, traceId),
  }
}

/** Constant, so it is text and not fields of each line's object. */
const SERVICE = `"service":"gatehouse","version":${JSON.stringify(VERSION)}`

/** Of the latest requests; a line that is written long after its request may lack the trace id. */
const MAX_TRACES = 10_000

type Line = Record<string, unknown>

const RANK: Readonly<Record<LogLevel, number>> = { error: 0, warn: 1, info: 2, debug: 3 }

/** JSON escapes only characters below U+0020. Terminals and some log readers also interpret these. */
function oneLine(json: string): string {
  return json.replace(
    /[\u007f-\u009f\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** A failed dependency is described by fields: its stack would only show where the broker noticed the failure. */
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

/** Copies into the line directly: measured, an intermediate object costs as much as the rest of the line. */
function addFields(line: Line, fields: Readonly<Line>, allowed: object, maxChars: number): void {
  for (const name in fields) {
    const value = Object.hasOwn(allowed, name) ? fields[name] : undefined
    if (!LOGGABLE.has(typeof value)) continue
    line[name] = typeof value === 'string' && value.length > maxChars ? `${value.slice(0, maxChars)}…` : value
  }
}
