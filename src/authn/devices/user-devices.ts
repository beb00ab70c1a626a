import { z } from 'zod'
import { createSeal, createSigner, type MasterKeys } from '../../crypto/keys.ts'
import type { Logger } from '../../observability/logger.ts'
import type { Metrics } from '../../observability/metrics.ts'
import { createSealedRecords, jsonCodec } from '../../store/sealed-records.ts'
import type { Store } from '../../store/store.ts'
import type { Client, DeviceTokens } from '../browser/client.ts'
import type { ForgetKnownDevice } from '../throttling/forget-known-device.ts'
import type { UserNames } from '../throttling/limits.ts'
import type { AnsweredUser } from '../transaction/answer.ts'
import type { Transaction } from '../transaction/transaction.ts'
import { type AuthnReply, record } from '../upstream/read-answer.ts'

/** A device on which a user has signed in. */
export interface UserDevice {
  /** Safe to show. It is not the id in the cookie, and differs from user to user. */
  readonly id: string
  readonly deviceId: string
  readonly label: string
  readonly createdAtMs: number
  /** The latest sign-in. */
  readonly lastUsedAtMs: number
  /** The names of the latest sign-ins, for the known device (`src/authn/throttling/`). */
  readonly logins: readonly string[]
  /** The user wants pushes to be sent without asking for them. */
  readonly autoPush: boolean
}

export type UserDevices = ReturnType<typeof createUserDevices>

export interface UserDevicesOptions {
  readonly store: Store
  readonly masterKeys: MasterKeys
  /** The lifetime of the device cookie. */
  readonly ttlMs: number
  readonly tokens: Pick<DeviceTokens, 'replace'>
  readonly forgetKnownDevice: ForgetKnownDevice
  readonly log: Logger
  readonly metrics: Metrics
  readonly now: () => number
}

/** More than users have. Beyond it, the device that was not used for the longest time is forgotten. */
const MAX_PER_USER = 50
const MAX_LOGINS = 5

/** The devices of each user: a Redis hash for each user, with a sealed entry for each device. */
export function createUserDevices(options: UserDevicesOptions) {
  const { log, now } = options
  const index = createIndex(options)

  const forgetEach = createForgetEach(options, index)

  return {
    /** The device that was used last comes first. */
    list: index.all,

    /** Adds the device of a full sign-in. `autoPush`: undefined if the user has not chosen. Never throws. */
    async add({ userId, logins }: UserNames, autoPush: boolean | undefined, client: Client): Promise<void> {
      const deviceId = client.device.id
      try {
        const all = await index.all(userId)
        const before = all.find((device) => device.deviceId === deviceId)
        await index.put(userId, afterSignIn(before, { logins, autoPush, client, at: now() }))
        const others = all.filter((device) => device !== before)
        await forgetEach(userId, others.slice(MAX_PER_USER - 1))
      } catch (error) {
        // the sign-in still succeeds; the device is listed after the next one
        log.warn('known_device_not_stored', { requestId: client.requestId }, error)
      }
    },

    showAutoPush: createShowAutoPush(index),

    /** Forgets the device with this id, or all. Returns how many were forgotten. */
    async forget(userId: string, id?: string): Promise<number> {
      const devices = (await index.all(userId)).filter((device) => id === undefined || device.id === id)
      await forgetEach(userId, devices)
      return devices.length
    },
  }
}

/** The first that matches is the name. Browsers also name others in their `User-Agent`: Edge names Chrome, and Chrome names Safari. */
const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/Edg(A|iOS)?\//, 'Edge'],
  [/OPR\//, 'Opera'],
  [/SamsungBrowser\//, 'Samsung Internet'],
  [/(Firefox|FxiOS)\//, 'Firefox'],
  [/(Chrome|CriOS)\//, 'Chrome'],
  [/Safari\//, 'Safari'],
]
const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/iPhone/, 'iPhone'],
  [/iPad/, 'iPad'],
  [/Android/, 'Android'],
  [/CrOS/, 'ChromeOS'],
  [/Windows/, 'Windows'],
  [/Mac OS X/, 'macOS'],
  [/Linux/, 'Linux'],
]

/** Browser and system by which users recognize their devices, such as `Firefox on Windows`. It contains no version. */
function deviceLabel(userAgent: string): string {
  return `${nameIn(BROWSERS, userAgent) ?? 'Browser'} on ${nameIn(SYSTEMS, userAgent) ?? 'an unknown system'}`
}

function nameIn(names: readonly (readonly [RegExp, string])[], userAgent: string): string | undefined {
  return names.find(([pattern]) => pattern.test(userAgent))?.[1]
}

/**
 * Shows the user's `autoPush` choice in an answer. Okta keeps it in a cookie of its own origin, which a trusted application does not
 * have, so Okta's answers always say false. `stored`: the choice, if it was read.
 */
function createShowAutoPush(index: ReturnType<typeof createIndex>) {
  return async (
    reply: AuthnReply,
    { autoPush }: Transaction,
    user: AnsweredUser | undefined,
    { device }: Client,
  ): Promise<{ readonly reply: AuthnReply; readonly stored: boolean | undefined }> => {
    if (user === undefined || !disablesAutoPush(reply)) return { reply, stored: autoPush?.stored }
    const isOwn = ({ deviceId }: UserDevice) => deviceId === device.id
    const stored = autoPush?.stored ?? (await index.all(user.id)).find(isOwn)?.autoPush ?? false
    return { reply: stored ? enableAutoPush(reply) : reply, stored }
  }
}

function disablesAutoPush({ body }: AuthnReply): boolean {
  const factors = Object.values(record(record(record(body._embedded).policy).factorsPolicyInfo))
  return factors.some((info) => record(info).autoPushEnabled === false)
}

function enableAutoPush(reply: AuthnReply): AuthnReply {
  const embedded = record(reply.body._embedded)
  const policy = record(embedded.policy)
  const factorsPolicyInfo = Object.fromEntries(
    Object.entries(record(policy.factorsPolicyInfo)).map(([id, info]) => [
      id,
      { ...record(info), autoPushEnabled: true },
    ]),
  )
  return {
    ...reply,
    body: { ...reply.body, _embedded: { ...embedded, policy: { ...policy, factorsPolicyInfo } } },
  }
}

function afterSignIn(
  before: UserDevice | undefined,
  {
    logins,
    autoPush = before?.autoPush ?? false,
    client,
    at,
  }: Pick<UserNames, 'logins'> & { autoPush: boolean | undefined; client: Client; at: number },
): Omit<UserDevice, 'id'> {
  return {
    deviceId: client.device.id,
    label: deviceLabel(client.userAgent),
    createdAtMs: before?.createdAtMs ?? at,
    lastUsedAtMs: at,
    logins: [...new Set([...logins, ...(before?.logins ?? [])])].slice(0, MAX_LOGINS),
    autoPush,
  }
}

function createForgetEach(
  { tokens, forgetKnownDevice }: UserDevicesOptions,
  index: ReturnType<typeof createIndex>,
) {
  return async (userId: string, devices: readonly UserDevice[]) => {
    const forgetting = devices.map(async ({ deviceId, logins }) => {
      await tokens.replace(deviceId)
      await forgetKnownDevice({ userId, logins }, deviceId)
      await index.remove(userId, deviceId) // last, so that the user can try again after a failure
    })
    await Promise.all(forgetting)
  }
}

const entry = z.object({
  version: z.literal(1),
  deviceId: z.string(),
  label: z.string(),
  createdAtMs: z.number(),
  lastUsedAtMs: z.number(),
  logins: z.array(z.string()),
  autoPush: z.boolean(),
})

function createIndex(options: UserDevicesOptions) {
  const { store, masterKeys, ttlMs, now } = options
  const names = createSigner(masterKeys, 'user-device-names')
  const { keysOf, open, seal } = createSealedRecords({
    ...options,
    seal: createSeal(masterKeys, 'user-device'),
    names,
    keyOf: (hmac) => `gatehouse:user-device:${hmac}`,
    codec: jsonCodec(entry),
    kind: 'user_device',
  })

  /** During a key rotation, a device may have an entry under each key. */
  const allEntries = async (userId: string): Promise<(UserDevice & { readonly key: string })[]> => {
    const entriesAt = async (key: string) =>
      Object.entries(await store.indexAll(key)).flatMap(([id, raw]) => {
        const device = open(raw, key)
        return device === undefined ? [] : [{ ...device, id, key }]
      })
    return (await Promise.all(keysOf(userId).map(entriesAt))).flat()
  }

  return {
    async put(userId: string, device: Omit<UserDevice, 'id'>): Promise<void> {
      const [key] = keysOf(userId)
      const id = names.sign(JSON.stringify([userId, device.deviceId]))
      await store.indexPut(key, id, seal({ ...device, version: 1, logins: [...device.logins] }, key), ttlMs)
    },

    async all(userId: string): Promise<readonly UserDevice[]> {
      const entries = await allEntries(userId)
      return latestOfEach(entries.filter(({ lastUsedAtMs }) => now() - lastUsedAtMs < ttlMs))
    },

    async remove(userId: string, deviceId: string): Promise<void> {
      const entries = (await allEntries(userId)).filter((device) => device.deviceId === deviceId)
      await Promise.all(entries.map(({ key, id }) => store.indexRemove(key, id)))
    },
  }
}

/** The latest entry of each device; last used first. */
function latestOfEach(entries: readonly UserDevice[]): UserDevice[] {
  const sorted = entries.toSorted((one, other) => other.lastUsedAtMs - one.lastUsedAtMs)
  return sorted.filter(({ deviceId }, at) => sorted.findIndex((one) => one.deviceId === deviceId) === at)
}
