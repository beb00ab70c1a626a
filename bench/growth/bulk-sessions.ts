import type { Redis } from 'ioredis'
import { createSigner } from '../../src/crypto/keys.ts'
import { createLogger } from '../../src/observability/logger.ts'
import { createMetrics } from '../../src/observability/metrics.ts'
import { createSessionCookie } from '../../src/session/session-cookie.ts'
import { createSessions, type Sessions } from '../../src/session/sessions.ts'
import type { Store } from '../../src/store/store.ts'
import type { PreparedRequest } from '../load.ts'
import { withPath } from '../prepare-requests.ts'
import { SECRET_KEY } from '../targets.ts'

/** Opens sessions with the broker's own code and keys, but without HTTP and with pipelined writes to Redis. */
export interface BulkSessions {
  /** Opens sessions until there are `count`. */
  fillTo(count: number): Promise<void>
  /** Session checks with an even sample of the sessions. */
  prepareChecks(): Promise<PreparedRequest[]>
}

const MINUTE_MS = 60_000
/** Long enough for the whole run. */
const IDLE_MS = 120 * MINUTE_MS
const SAMPLE_SIZE = 2000

export function createBulkSessions(redis: Redis): BulkSessions {
  const masterKeys = () => KEYS
  const store = createBulkStore(redis)
  const cookie = createSessionCookie({ masterKeys, secure: true, sameSite: 'lax' })
  const sessions = openSessions(store, cookie)
  const ids: string[] = []

  return {
    async fillTo(count) {
      for (let n = ids.length; n < count; n++) {
        const session = sessions.prepare(grantOf(n))
        await session.write()
        await session.bindDevice()
        ids.push(session.id)
        if (n % BATCH === 0) await store.flush()
      }
      await store.flush()
    },

    async prepareChecks() {
      const step = Math.max(1, Math.floor(ids.length / SAMPLE_SIZE))
      const cookies = ids.flatMap((id, n) =>
        n % step === 0 ? [`${deviceCookieOf(n)}; ${cookie.setCookie(id).split(';')[0]}`] : [],
      )
      return withPath(
        'S',
        cookies.map((value) => ({
          method: 'GET',
          path: '',
          headers: { 'sec-fetch-site': 'same-origin', cookie: value },
          expected: 200,
        })),
      )
    },
  }
}

const KEYS = [SECRET_KEY]
const BATCH = 5000

function openSessions(store: Store, cookie: ReturnType<typeof createSessionCookie>): Sessions {
  const masterKeys = () => KEYS
  const metrics = createMetrics()
  const log = createLogger({ level: 'error', maxFieldChars: 1024, now: Date.now })
  return createSessions({
    store,
    masterKeys,
    cookie,
    readDeviceId: () => undefined,
    idleMs: IDLE_MS,
    absoluteMs: 12 * 60 * MINUTE_MS,
    extendEveryMs: MINUTE_MS,
    maxPerUser: 20,
    log,
    metrics,
    now: Date.now,
  })
}

function grantOf(n: number) {
  const login = `user-${n}@example.test`
  const names = { firstName: 'Bench', lastName: `User ${n}`, locale: 'en', timeZone: 'Europe/Stockholm' }
  return {
    userId: `00ubench${String(n).padStart(12, '0')}`,
    login,
    profile: { login, ...names },
    amr: ['pwd', 'otp', 'mfa'],
    loginHash: 'x'.repeat(43),
    deviceId: deviceIdOf(n),
    userAgent: 'Mozilla/5.0 (bench) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36',
  }
}

const deviceIdOf = (n: number) => n.toString(16).padStart(32, '0')

function deviceCookieOf(n: number): string {
  const value = `${deviceIdOf(n)}.${Math.floor(Date.now() / 1000).toString(36)}`
  return `__Host-gatehouse-device=${value}.${createSigner(() => KEYS, 'device-cookie').sign(value)}`
}

/** A store that pipelines the writes of opening a session and supports nothing else. */
function createBulkStore(redis: Redis): Store & { flush(): Promise<void> } {
  const notUsed = () => Promise.reject(new Error('not used when a session is opened'))
  let pipeline = redis.pipeline()
  return {
    preservesWriteOrder: true,
    async set(key, value, ttlMs) {
      pipeline.set(key, value, 'PX', Math.ceil(ttlMs))
      return true
    },
    async indexPut(key, field, value, ttlMs) {
      pipeline.hset(key, field, value)
      pipeline.pexpire(key, Math.ceil(ttlMs))
      return 1
    },
    async flush() {
      const full = pipeline
      pipeline = redis.pipeline()
      for (const [error] of (await full.exec()) ?? []) if (error) throw error
    },
    async swap(key, value, ttlMs) {
      pipeline.set(key, value, 'PX', Math.ceil(ttlMs))
      return undefined
    },
    get: notUsed,
    delete: notUsed,
    deleteIf: notUsed,
    extendIf: notUsed,
    acquire: notUsed,
    commit: notUsed,
    indexAll: notUsed,
    indexRemove: notUsed,
    countAttempt: notUsed,
    refundAttempt: notUsed,
    clearWindows: notUsed,
    ping: notUsed,
    close: notUsed,
  }
}
