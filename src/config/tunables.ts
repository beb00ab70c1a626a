import { z } from 'zod'
import { ConfigError } from './config-error.ts'
import { type DeepReadonly, deepFreeze } from './deep-freeze.ts'

/** The settings in `config/default.json`: no secrets, each with its unit in its name, grouped by module. */
export type Tunables = DeepReadonly<z.infer<typeof SHAPE>>

export const TUNABLES_FILE = 'config/default.json'

/** Checks the parsed file; throws ConfigError with every problem by its path, such as `http.bodyLimitBytes`. */
export function parseTunables(data: unknown): Tunables {
  const result = SHAPE.safeParse(data)
  if (!result.success) throw new ConfigError(result.error.issues.flatMap(problemsOf))
  const contradictions = [...contradictionsIn(result.data)]
  if (contradictions.length > 0)
    throw new ConfigError(contradictions.map((problem) => `${TUNABLES_FILE}: ${problem}`))
  return deepFreeze(result.data)
}

const count = z.int().min(1).max(1_000_000)
const bytes = z.int().min(1024).max(16_777_216)
const ms = z.int().min(1).max(86_400_000)
const msOrNone = z.int().min(0).max(86_400_000)
const minutes = z.int().min(1).max(1440)
const share = z.number().min(0).max(1)

/** A window, and windows that apply together (docs/configuration.md#limits). */
const limit = z.strictObject({ attempts: count, perSeconds: z.int().min(1).max(2_592_000) })
const windows = z.strictObject({ burst: limit, sustained: limit })
const inARow = z.strictObject({ inARow: limit })
const perUserAndDevice = { perUser: windows, perKnownDevice: windows, perKnownUser: windows }

const UPSTREAM = z.strictObject({
  connectTimeoutMs: ms,
  totalTimeoutMs: ms,
  maxResponseBytes: bytes,
  maxConnections: count,
  breaker: z.strictObject({ consecutiveFailures: count, halfOpenAfterMs: ms }),
})

const BODIES = z.strictObject({ bodies: count, bytes: z.int().min(1024).max(1_073_741_824) })

const SHAPE = z.strictObject({
  http: z.strictObject({
    bodyLimitBytes: bytes,
    unfinishedBodies: z.strictObject({ total: BODIES, perAddress: BODIES }),
    maxHeaderBytes: bytes,
    maxUrlBytes: bytes,
    headersTimeoutMs: ms,
    requestTimeoutMs: ms,
    connectionsCheckIntervalMs: ms,
    keepAliveTimeoutMs: ms,
    writeTimeoutMs: ms,
    readinessLeadMs: msOrNone,
    shutdownGraceMs: ms,
    load: z.strictObject({
      inFlight: z.strictObject({ sign_in: count, recovery: count, session: count, pam: count }),
      maxLagMs: z.strictObject({ sign_in: ms, recovery: ms, session: ms, pam: ms }),
      lagWindowMs: ms,
      retryAfterSeconds: z.int().min(1).max(3600),
    }),
  }),
  upstream: z.strictObject({ authn: UPSTREAM, pam: UPSTREAM }),
  transaction: z.strictObject({
    minTtlMinutes: minutes,
    maxTtlMinutes: minutes,
    defaultTtlMinutes: minutes,
    redirectOnlyMinutes: minutes,
    stepLockMs: ms,
    stepWaitMs: ms,
    sharedAnswerMs: ms,
    pollEveryMs: msOrNone,
    maxOfferedSteps: count,
    maxPictureBytes: bytes,
  }),
  authn: z.strictObject({
    signInWaitMs: msOrNone,
    rateLimit: z.strictObject({
      reserveShare: share,
      maxWaitMs: msOrNone,
      jitterMs: msOrNone,
      maxClosedMs: ms,
      refreshEveryMs: msOrNone,
    }),
  }),
  device: z.strictObject({
    cookieDays: z.int().min(1).max(400), // browsers shorten longer lifetimes (RFC 6265bis, section 5.6)
    renewAfterHours: z.int().min(0).max(9600),
    knownDays: z.int().min(1).max(400),
  }),
  session: z.strictObject({ extendEverySeconds: z.int().min(0).max(3600), maxPerUser: count }),
  store: z.strictObject({ connectTimeoutMs: ms, commandTimeoutMs: ms }),
  pam: z.strictObject({
    token: z.strictObject({
      refreshBeforeMs: ms,
      refreshBeforeShare: share,
      jitterShare: share,
      refusedPauseMinMs: ms,
      refusedPauseMaxMs: ms,
    }),
    lists: z.strictObject({
      freshMs: msOrNone,
      staleMs: msOrNone,
      onErrorMs: msOrNone,
      meOnErrorMs: msOrNone,
      maxPages: count,
      maxItems: count,
      maxTotalMs: ms,
      maxLinkHeaderBytes: bytes,
    }),
    rateLimit: z.strictObject({ maxWaitMs: msOrNone, jitterMs: msOrNone }),
    directoryMaxAgeMs: ms,
    unknownUserMs: ms,
    teamDisabledMs: ms,
  }),
  recovery: z.strictObject({
    recoveryAnswerMs: msOrNone,
    challengeMinutes: minutes,
    resendAfterMs: ms,
    maxWrongCodes: count,
  }),
  secrets: z.strictObject({ checkFilesEveryMs: ms }),
  log: z.strictObject({
    maxFieldChars: count,
    throttle: z.strictObject({ periodMs: ms, maxLines: count }),
  }),
  limits: z.strictObject({
    stepUpPerAddress: limit,
    callsPerUser: limit,
    signInsPerUser: limit,
    password: z.strictObject({
      perAddress: windows,
      perUser: windows.extend(inARow.shape),
      perDevice: windows,
      perKnownDevice: windows.extend(inARow.shape),
      perKnownUser: windows.extend(inARow.shape),
    }),
    code: z.strictObject({
      perAddress: windows,
      perUser: windows.extend(inARow.shape),
      perTransaction: z.strictObject({ burst: limit }),
      perKnownDevice: windows.extend(inARow.shape),
      perKnownUser: windows.extend(inARow.shape),
    }),
    token: z.strictObject({ perAddress: windows }),
    message: z.strictObject({ perAddress: windows, ...perUserAndDevice }),
    push: z.strictObject(perUserAndDevice),
    recovery: z.strictObject({ perAddress: windows, ...perUserAndDevice }),
  }),
})

/** Per account (NIST SP 800-63B-4, section 3.2.2). */
const MAX_FAILURES_IN_A_ROW = 100

/** Each value must not be more, or less, than the one at the second path. */
const NOT = [
  ['http.maxUrlBytes', 'more', 'http.maxHeaderBytes'],
  ['http.headersTimeoutMs', 'more', 'http.requestTimeoutMs'],
  ['upstream.authn.connectTimeoutMs', 'more', 'upstream.authn.totalTimeoutMs'],
  ['upstream.pam.connectTimeoutMs', 'more', 'upstream.pam.totalTimeoutMs'],
  ['http.unfinishedBodies.total.bytes', 'less', 'http.bodyLimitBytes'],
  ['http.unfinishedBodies.perAddress.bytes', 'less', 'http.bodyLimitBytes'],
  ['pam.lists.staleMs', 'less', 'pam.lists.freshMs'],
  ['pam.lists.onErrorMs', 'less', 'pam.lists.staleMs'],
  ['pam.lists.meOnErrorMs', 'less', 'pam.lists.freshMs'],
  ['pam.token.refusedPauseMaxMs', 'less', 'pam.token.refusedPauseMinMs'],
] as const

/** Values that contradict each other. */
function* contradictionsIn(figures: z.infer<typeof SHAPE>): Generator<string> {
  const { http, upstream, transaction, authn, limits } = figures
  const at = (path: string) =>
    path.split('.').reduce((group: unknown, name) => Object(group)[name], figures) as number // of the table above
  for (const [path, than, other] of NOT)
    if (than === 'more' ? at(path) > at(other) : at(path) < at(other))
      yield `${path} is ${than} than ${other}`
  if (http.readinessLeadMs + upstream.authn.totalTimeoutMs > http.shutdownGraceMs)
    yield 'http.shutdownGraceMs leaves no time for a running upstream call after http.readinessLeadMs'
  const { minTtlMinutes, defaultTtlMinutes, maxTtlMinutes, stepLockMs } = transaction
  if (minTtlMinutes > defaultTtlMinutes || defaultTtlMinutes > maxTtlMinutes)
    yield 'transaction.defaultTtlMinutes is not between transaction.minTtlMinutes and transaction.maxTtlMinutes'
  if (stepLockMs <= authn.signInWaitMs + authn.rateLimit.maxWaitMs + upstream.authn.totalTimeoutMs)
    yield 'transaction.stepLockMs must be more than authn.signInWaitMs, authn.rateLimit.maxWaitMs and upstream.authn.totalTimeoutMs together, or the lock could expire during the call'
  for (const name of ['password', 'code'] as const) {
    const { perUser, perKnownUser } = limits[name]
    if (perUser.inARow.attempts + perKnownUser.inARow.attempts > MAX_FAILURES_IN_A_ROW)
      yield `limits.${name}.perUser.inARow.attempts and limits.${name}.perKnownUser.inARow.attempts are more than ${MAX_FAILURES_IN_A_ROW} together`
  }
}

function problemsOf(issue: z.core.$ZodIssue): string[] {
  const at = (...more: string[]) => `${TUNABLES_FILE}: ${[...issue.path, ...more].join('.') || 'the file'}`
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => `${at(key)} is unknown`)
    case 'too_small':
      return [`${at()} must be at least ${issue.minimum}`]
    case 'too_big':
      return [`${at()} must be at most ${issue.maximum}`]
    case 'invalid_type':
      return [`${at()} is missing or not of type ${issue.expected}`]
    default:
      return [`${at()} is not valid`]
  }
}
