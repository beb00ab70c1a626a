import type { Redis } from 'ioredis'
import { createSigner } from '../../src/crypto/keys.ts'
import { createLogger } from '../../src/observability/logger.ts'
import { createMetrics } from '../../src/observability/metrics.ts'
import { createSessionCookie } from '../../src/session/session-cookie.ts'
import { createSessions, type Sessions } from '../../src/session/sessions.ts'
import type { Store } from '../../src/store/store.ts'
import type { Ask } from '../load.ts'
import { SECRET_KEY } from '../targets.ts'
import { askingFor } from '../visitors.ts'

/** Opens sessions by the broker's own code, with its keys, but without its HTTP and without waiting for Redis each time. */
export interface ManySessions {
  /** Opens more, until there are so many. */
  fillTo(count: number): Promise<void>
  /** Session checks by some of those people, spread over all. */
  asks(): Promise<Ask[]>
}

const MINUTE_MS = 60_000
/** Long enough for the whole run. */
const IDLE_MS = 120 * MINUTE_MS
const ASKING = 2000

export function createManySessions(redis: Redis): ManySessions {
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

    async asks() {
      const step = Math.max(1, Math.floor(ids.length / ASKING))
      const cookies = ids.flatMap((id, n) =>
        n % step === 0 ? [`${deviceCookieOf(n)}; ${cookie.setCookie(id).split(';')[0]}`] : [],
      )
      return askingFor(
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
  const login = `person-${n}@example.test`
  const names = { firstName: 'Bench', lastName: `Person ${n}`, locale: 'en', timeZone: 'Europe/Stockholm' }
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

/** Takes the three things that opening a session writes, and sends many of them at once. */
function createBulkStore(redis: Redis): Store & { flush(): Promise<void> } {
  const neverAsked = () => Promise.reject(new Error('opening a session does not ask for this'))
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
    get: neverAsked,
    delete: neverAsked,
    deleteIf: neverAsked,
    acquire: neverAsked,
    commit: neverAsked,
    indexAll: neverAsked,
    indexRemove: neverAsked,
    countAttempt: neverAsked,
    refundAttempt: neverAsked,
    clearWindows: neverAsked,
    ping: neverAsked,
    close: neverAsked,
  }
}
