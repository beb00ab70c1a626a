import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { LOG_EVENT_TEXTS } from '../../scripts/docs/log-events.ts'
import type { AuditFields } from '../../src/observability/audit-events.ts'
import type { LogLevel } from '../../src/observability/log-events.ts'
import type { LogFields } from '../../src/observability/log-fields.ts'
import { VERSION } from '../../src/observability/version.ts'
import { codePoint } from '../support/code-point.ts'
import { collectLog } from './collect-log.ts'

/** Fields that the types forbid, but that a cast could pass. */
const forbidden = (fields: Record<string, unknown>) => fields as LogFields // on purpose: see above
const forbiddenAudit = (fields: Record<string, unknown>) => fields as AuditFields<'signed_out'>

describe('what is never written', () => {
  // shows: V16.2.5
  test('a field that is not on the list', () => {
    const { log, lines, text } = collectLog()
    log.info(
      'request',
      forbidden({ password: 'very-secret', body: { a: 1 }, stateToken: 'x', userId: '00u1' }),
    )
    log.info('request', forbidden(JSON.parse('{"__proto__":"very-secret","constructor":"very-secret"}')))
    expect(lines().map(({ time: _time, ...rest }) => rest)).toEqual([
      { level: 'info', event: 'request', userId: '00u1' },
      { level: 'info', event: 'request' },
    ])
    expect(text()).not.toContain('very-secret')
  })

  test('a listed field whose value is not a string, number or boolean', () => {
    const { log, lines, text } = collectLog()
    const secret = 'very-secret'
    const values = [{ a: secret }, [secret], null, () => secret, Symbol(secret), 10n]
    for (const reason of values) log.warn('unknown_step', forbidden({ reason, count: 1 }))
    expect(lines().length).toBe(values.length)
    for (const line of lines()) expect(line).not.toHaveProperty('reason')
    expect(text()).not.toContain('very-secret')
  })

  test('the message of an error, of its cause, or lines of a message that look like frames', () => {
    const { log, lines, text } = collectLog()
    const cause = Object.assign(new TypeError('very-secret cause'), { code: 'ECODE', token: 'very-secret' })
    log.error(
      'unexpected_error',
      {},
      new Error('very-secret\n    at very-secret (file:1:1)\nsecond line', { cause }),
    )
    log.error('unexpected_error', {}, new SyntaxError('"very-secret\n    at very-secret:1:2" is not JSON'))
    expect(text()).not.toContain('very-secret')
    expect(lines()[0]).toMatchObject({
      error: { name: 'Error', cause: { name: 'TypeError', code: 'ECODE' } },
    })
    expect(JSON.stringify(lines()[0])).toMatch(/logger\.test\.ts/) // has frames
  })

  test('a thrown value that is not an Error', () => {
    const { log, lines, text } = collectLog()
    for (const thrown of ['very-secret', { message: 'very-secret' }, null, 17])
      log.error('unexpected_error', {}, thrown)
    expect(text()).not.toContain('very-secret')
    expect(lines().map(({ error }) => error)).toEqual([
      { name: 'string' },
      { name: 'object' },
      { name: 'object' },
      { name: 'number' },
    ])
  })
})

describe('one event is one line', () => {
  test.each([
    'line\nfeed',
    '\u001b[31mred\u001b[0m',
    '\u009b31mred',
    '\u007f',
    '\ud800 alone',
    '"}\n{"level":"error","event":"forged"}',
  ])('%j', (reason) => {
    const { log, lines, text } = collectLog()
    log.info('request', { reason })
    expect(text()).toMatch(/^[^\n]*\n$/)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the test asserts that there is none
    expect(text().slice(0, -1)).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/)
    expect(lines()).toMatchObject([{ event: 'request', reason }])
  })

  // shows: V16.2.4, V16.4.1
  test('for any field values', () => {
    fc.assert(
      fc.property(fc.string({ unit: codePoint }), fc.string({ unit: codePoint }), (reason, userId) => {
        const { log, text } = collectLog()
        log.info('request', { reason, userId })
        expect(text().split('\n').length).toBe(2)
        expect(JSON.parse(text())).toMatchObject({ reason, userId })
      }),
    )
  })

  test('a field of a megabyte is truncated, and marked', () => {
    const { log, lines, text } = collectLog()
    log.info('request', { reason: 'x'.repeat(1_000_000), userId: 'y'.repeat(1024) })
    expect(lines()[0]).toMatchObject({ reason: `${'x'.repeat(1024)}…`, userId: 'y'.repeat(1024) })
    expect(text().length).toBeLessThan(2500)
  })
})

describe('levels', () => {
  const EVENTS = {
    error: 'unexpected_error',
    warn: 'overloaded',
    info: 'stopped',
    debug: 'pam_error',
  } as const

  test.each([
    ['error', ['error']],
    ['warn', ['error', 'warn']],
    ['info', ['error', 'warn', 'info']],
    ['debug', ['error', 'warn', 'info', 'debug']],
  ] as const)('%s', (level, expected) => {
    const { log, lines } = collectLog(level)
    log.error(EVENTS.error)
    log.warn(EVENTS.warn)
    log.info(EVENTS.info)
    log.debug(EVENTS.debug)
    expect(lines().map((line) => line.level)).toEqual(expected)
  })

  // shows: V16.3.1
  test.each(Object.keys(EVENTS) as LogLevel[])(
    'an audit event is written at log level %s, with audit: true',
    (level) => {
      const { log, lines } = collectLog(level, { now: () => Date.parse('2026-11-05T06:07:08.009Z') })
      log.audit(
        'signed_out',
        forbiddenAudit({ userId: '00u1', password: 'very-secret', status: 200, audit: false }),
      )
      expect(lines()).toEqual([
        {
          time: '2026-11-05T06:07:08.009Z',
          level: 'info',
          event: 'signed_out',
          userId: '00u1',
          audit: true,
        },
      ])
    },
  )
})

describe('every line', () => {
  test('has the service and its version, also audit lines', () => {
    const { log, text } = collectLog('info', { now: () => Date.parse('2026-11-05T06:07:08.009Z') })
    const head = `"service":"gatehouse","version":"${VERSION}"`
    log.info('stopped')
    log.info('stopping', { signal: 'SIGTERM' })
    log.audit('signed_out', forbiddenAudit({ userId: '00u1' }))
    expect(text().split('\n')).toEqual([
      `{"time":"2026-11-05T06:07:08.009Z","level":"info",${head},"event":"stopped"}`,
      `{"time":"2026-11-05T06:07:08.009Z","level":"info",${head},"event":"stopping","signal":"SIGTERM"}`,
      expect.stringMatching(
        /^\{"time":"2026-11-05T06:07:08.009Z","level":"info","service":"gatehouse","version":"[^"]+","event":"signed_out","userId":"00u1","audit":true,"process":"[\da-f-]{36}","sequence":1\}$/,
      ),
      '',
    ])
  })

  test('audit lines are numbered in each process, so that lost ones are noticed', () => {
    const logs = [collectLog('error'), collectLog('error')]
    for (const { log } of logs) {
      log.audit('signed_out', forbiddenAudit({ userId: '00u1' }))
      log.info('stopping') // takes no number
      log.audit('signed_out', forbiddenAudit({ sequence: 99 }))
    }
    const numbered = logs.map(({ text }) =>
      [...text().matchAll(/"process":"([\da-f-]{36})","sequence":(\d+)/g)].map(([, id, n]) => [id, n]),
    )
    const [[first], [second]] = [numbered[0] ?? [], numbered[1] ?? []]
    expect(numbered).toEqual([
      [
        [first?.[0], '1'],
        [first?.[0], '2'],
      ],
      [
        [second?.[0], '1'],
        [second?.[0], '2'],
      ],
    ])
    expect(first?.[0]).not.toBe(second?.[0])
  })

  test('of a request with a trace has its trace id, also audit lines', () => {
    const { log, lines } = collectLog()
    log.setTrace('request-1', '0af7651916cd43dd8448eb211c80319c')
    log.warn('overloaded', { requestId: 'request-1' })
    log.audit('signed_out', forbiddenAudit({ requestId: 'request-1' }))
    log.warn('overloaded', { requestId: 'request-2' })
    log.warn('overloaded')
    const trace = '0af7651916cd43dd8448eb211c80319c'
    expect(lines().map(({ trace_id }) => trace_id)).toEqual([trace, trace, undefined, undefined])
  })
})

test('event names are in snake_case, each with a sentence that explains it', () => {
  for (const [event, text] of Object.values(LOG_EVENT_TEXTS).flatMap((events) => Object.entries(events))) {
    expect(event).toMatch(/^[a-z]+(_[a-z]+)*$/)
    expect(text).toMatch(/^\S[^→]*\.( → \S[^→]*\.)?$/)
  }
})
