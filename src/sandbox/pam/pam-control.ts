import { z } from 'zod'
import {
  type Access,
  type GroupForm,
  groupFormSchema,
  groupSchema,
  keySchema,
  type PamGroup,
  parsed,
  type RateLimit,
  rateLimitSchema,
} from './pam-config.ts'
import { ERROR_SHAPES, type ErrorShape, PAM_ERROR_NAMES } from './pam-errors.ts'
import type { LinkForm, LinkTarget } from './pam-links.ts'
import { createRateLimiter } from './pam-rate-limit.ts'
import type { PamCounts, PamState } from './pam-state.ts'
import type { IssuedToken } from './pam-tokens.ts'

const failure = z.strictObject({
  error: z.enum(PAM_ERROR_NAMES),
  /** Default: the sandbox's own shape (`setErrorShape`). */
  shape: z.enum(ERROR_SHAPES).optional(),
  /** A path prefix. */
  path: z.string().startsWith('/').optional(),
  method: z.string().min(1).optional(),
  headers: z.record(z.string().min(1), z.string()).default({}),
  /** How far away X-RateLimit-Retry-At and -Reset of too_many_requests are. */
  retrySeconds: z.number().min(0).default(1),
  times: z.union([z.int().min(1), z.literal('always')]).default(1),
})

export type FailNext = z.input<typeof failure>

/** What a test or a demo can tell the sandbox. All arguments can be written in JSON. */
export type PamControl = {
  /** Back to the configuration: no tokens, counts or failures. The call log and the faults stay. */
  reset(): void

  counts(): PamCounts
  /** Every bearer token ever issued since the last reset, to be searched for where none may stand. */
  bearerTokens(): string[]
  issuedTokens(): readonly IssuedToken[]

  /** The next requests (1, or `times`) get this error; first told, first served. */
  failNext(failure: FailNext): void
  clearFailures(): void
  setErrorShape(shape: ErrorShape): void

  /** Shifts what the sandbox says about time (Date, expires_at, rate-limit headers), not its own time. */
  setClockOffset(ms: number): void
  setRateLimit(rule: RateLimit): void

  expireTokens(): void
  revokeToken(token: string): void
  /** For tokens issued from now on. */
  setTokenLifetime(seconds: number): void
  addKey(key: z.input<typeof keySchema>): void
  removeKey(keyId: string): void
  /** Now, or at an RFC 3339 time. */
  expireKey(keyId: string, at?: string): void

  disableTeam(disabled?: boolean): void
  /** The team_name in token answers from now on. */
  setReportedTeam(name: string): void
  /** full; none: authorization_error; own: forbidden_error. */
  setAccess(serviceUser: string, access: Access): void
  /** This path (`{team}` filled in) answers resource_deprecated. */
  deprecatePath(path: string): void

  setLinkForm(form: LinkForm, target?: LinkTarget): void
  /** null: lists come whole, on one page. */
  setPageSize(size: number | null): void

  /** Makes the team hold so many generated groups; with `user`, puts that user in all of them. */
  generateGroups(count: number, user?: string): void
  putGroup(group: z.input<typeof groupSchema>): void
  deleteGroup(name: string, deletedAt?: string): void
  /** null: there is no such user any more. */
  setUserGroups(user: string, groupNames: readonly string[] | null): void
  setGroupForm(form: Partial<GroupForm>): void
  /** Deleted groups stand in lists although nobody asked for them. */
  showDeleted(shown?: boolean): void

  groups(): readonly PamGroup[]
}

export function createPamControl({
  state,
  reset,
  now,
}: {
  state: () => PamState
  reset: () => void
  now: () => number
}): PamControl {
  return {
    reset,

    counts: () => structuredClone(state().counts),
    bearerTokens: () =>
      state()
        .tokens.issued()
        .map(({ token }) => token),
    issuedTokens: () => state().tokens.issued(),

    failNext(input) {
      const { times, error, shape, path, method, headers, retrySeconds } = parsed(failure, input, 'failNext')
      const left = times === 'always' ? Number.POSITIVE_INFINITY : times
      const upper = method?.toUpperCase()
      state().failures.push({ error, shape, path, method: upper, headers, retrySeconds, left })
    },
    clearFailures() {
      state().failures = []
    },
    setErrorShape(shape) {
      state().errorShape = shape
    },

    setClockOffset(ms) {
      state().clockOffsetMs = ms
    },
    setRateLimit(input) {
      const rule = parsed(rateLimitSchema, input, 'setRateLimit')
      state().limiter = createRateLimiter({ rule, now })
    },

    expireTokens: () => state().tokens.expireAll(),
    revokeToken: (token) => state().tokens.revoke(token),
    setTokenLifetime: (seconds) => state().tokens.setLifetimeSeconds(seconds),
    addKey(input) {
      const key = parsed(keySchema, input, 'addKey')
      if (!state().access.has(key.serviceUser)) state().access.set(key.serviceUser, 'full')
      state().tokens.addKey(key)
    },
    removeKey: (keyId) => state().tokens.removeKey(keyId),
    expireKey(keyId, at) {
      state().tokens.expireKey(keyId, at === undefined ? now() : Date.parse(at))
    },

    disableTeam(disabled = true) {
      state().teamDisabled = disabled
    },
    setReportedTeam(name) {
      state().reportedTeam = name
    },
    setAccess(serviceUser, access) {
      if (!state().access.has(serviceUser)) throw new Error(`there is no service user "${serviceUser}"`)
      state().access.set(serviceUser, access)
    },
    deprecatePath(path) {
      state().deprecatedPaths.add(path.replace('{team}', state().team))
    },

    setLinkForm(form, target = {}) {
      state().linkForm = form
      state().linkTarget = target
    },
    setPageSize(size) {
      state().pageSize = size ?? undefined
    },

    generateGroups: (count, user) => state().directory.generate(count, user),
    putGroup: (group) => state().directory.put(parsed(groupSchema, group, 'putGroup')),
    deleteGroup(name, deletedAt = new Date(now()).toISOString()) {
      state().directory.remove(name, deletedAt)
    },
    setUserGroups: (user, names) => state().directory.setUserGroups(user, names ?? undefined),
    setGroupForm(form) {
      state().groupForm = parsed(groupFormSchema, { ...state().groupForm, ...form }, 'setGroupForm')
    },
    showDeleted(shown = true) {
      state().showDeleted = shown
    },

    groups: () => state().directory.groups(),
  }
}
