import { LRUCache } from 'lru-cache'
import { v4 as uuid } from 'uuid'
import winston from 'winston'
import { BrokerError } from '../errors.ts'
import { AUDIT_EVENTS, type AuditEvent, type AuditFields } from './audit-events.ts'
import { failureFields } from './dependency-failure.ts'
import { describeError } from './describe-error.ts'
import type { LogEvent, LogLevel } from './log-events.ts'
import { LOG_FIELDS, type LogFields } from './log-fields.ts'
import { LogOutput } from './log-output.ts'
import type { Metrics } from './metrics.ts'
import { VERSION } from './version.ts'

/**
 * Each event is one line of JSON: `{time, level, service, version, event, …fields}`. Fields that
 * are not on the event's list (`log-fields.ts`, `audit-events.ts`) are dropped. No body, cookie,
 * token, password, code, link or login is ever written. Errors are described by name, code and
 * stack frames, never by message: a message may quote its input.
 *
 * error: an operator must act. warn: the broker recovers without help. info: one line per request,
 * and changes of state. debug: for development.
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
  /** Default: standard output. */
  readonly stream?: NodeJS.WritableStream | undefined
  /**
   * Every event is counted, also one below the level, except `request`, which `httpRequestDuration`
   * counts.
   */
  readonly metrics?: Pick<Metrics, 'logEvents' | 'logLinesLost'>
  readonly now?: () => number
  /** Of this process, in audit lines. */
  readonly instanceId?: string
}

export function createLogger(options: LoggerOptions): Logger {
  const { level, metrics, now = Date.now, instanceId = uuid() } = options
  const stream = options.stream ?? new LogOutput((lines) => metrics?.logLinesLost.inc(lines))
  /** Only with tracing, as it takes its memory at once. */
  let traceIds: LRUCache<string, string> | undefined
  let sequence = 0

  function toLine({ level, event, fields, error }: Entry): Line {
    const time = new Date(now()).toISOString()
    const isAudit = level === 'audit'
    const line: Line = { time, level: isAudit ? 'info' : level, ...SOURCE, event }
    addFields(line, fields, isAudit ? AUDIT_EVENTS[event].shape : LOG_FIELDS)
    if (error !== undefined) addError(line, error)
    if (isAudit) Object.assign(line, { audit: true, process: instanceId, sequence: ++sequence })
    if (typeof fields.requestId === 'string') line.trace_id = traceIds?.get(fields.requestId)
    return line
  }
  const lines = winston.createLogger({
    level,
    levels: { audit: 0, error: 0, warn: 1, info: 2, debug: 3 },
    // from `write`
    format: winston.format.printf(({ entry }) => oneLine(JSON.stringify(toLine(entry as Entry)))),
    transports: [new winston.transports.Stream({ stream })],
  })
  const write = (entry: Entry) => {
    const { level, event } = entry
    if (event !== 'request') metrics?.logEvents.inc({ level, event })
    lines.log({ level, message: event, entry })
  }
  const logAt =
    <Level extends LogLevel>(level: Level) =>
    (event: LogEvent<Level>, fields: LogFields = {}, error?: unknown) =>
      write({ level, event: String(event), fields, error })

  return {
    error: logAt('error'),
    warn: logAt('warn'),
    info: logAt('info'),
    debug: logAt('debug'),
    audit: (event, fields) => write({ level: 'audit', event, fields }),
    setTrace(requestId, traceId) {
      traceIds ??= new LRUCache({ max: MAX_TRACES })
      traceIds.set(requestId, traceId)
    },
  }
}

const SOURCE = { service: 'gatehouse', version: VERSION }

/** Of the latest requests; a line that is written long after its request may lack the trace id. */
const MAX_TRACES = 10_000

type Line = Record<string, unknown>

type Entry = { readonly fields: Readonly<Line>; readonly error?: unknown } & (
  | { readonly level: LogLevel; readonly event: string }
  | { readonly level: 'audit'; readonly event: AuditEvent }
)

/**
 * JSON escapes only characters below U+0020. Terminals and some log readers also interpret these.
 */
function oneLine(json: string): string {
  return json.replace(
    /[\u007f-\u009f\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/**
 * A failed dependency is described by fields: its stack would only show where the broker noticed
 * the failure.
 */
function addError(line: Line, error: unknown): void {
  if (!(error instanceof BrokerError)) {
    line.error = describeError(error)
    return
  }
  const failure = failureFields(error)
  addFields(line, failure, LOG_FIELDS)
  if (failure.outcome === undefined) line.error = describeError(error.cause ?? error)
}

/** A longer text is cut at this length and marked with `…`. */
const MAX_FIELD_CHARS = 1024
const LOGGABLE: ReadonlySet<string> = new Set(['string', 'number', 'boolean'])

/**
 * Copies into the line directly: measured, an intermediate object costs as much as the rest of the
 * line.
 */
function addFields(line: Line, fields: Readonly<Line>, allowed: object): void {
  for (const name in fields) {
    const value = Object.hasOwn(allowed, name) ? fields[name] : undefined
    if (!LOGGABLE.has(typeof value)) continue
    const isLong = typeof value === 'string' && value.length > MAX_FIELD_CHARS
    line[name] = isLong ? `${value.slice(0, MAX_FIELD_CHARS)}…` : value
  }
}
