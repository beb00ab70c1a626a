import { z } from 'zod'
import {
  type Access,
  type EmptyLists,
  type GroupForm,
  groupFormSchema,
  groupSchema,
  keySchema,
  type PamGroup,
  parseInput,
  type RateLimit,
  rateLimitSchema,
} from './pam-config.ts'
import { ERROR_SHAPES, type ErrorShape, PAM_ERROR_NAMES } from './pam-errors.ts'
import type { LinkForm, LinkTarget } from './pam-links.ts'
import { createRateLimiter } from './pam-rate-limit.ts'
import type { PamCounts, PamState } from './pam-state.ts'

const failure = z.strictObject({
  error: z.enum(PAM_ERROR_NAMES),
  /** Default: the shape set with `setErrorShape`. */
  shape: z.enum(ERROR_SHAPES).optional(),
  /** Path prefix. */
  path: z.string().startsWith('/').optional(),
  method: z.string().min(1).optional(),
  headers: z.record(z.string().min(1), z.string()).default({}),
  /** The time until X-RateLimit-Retry-At and -Reset, for too_many_requests. */
  retrySeconds: z.number().min(0).default(1),
  times: z.union([z.int().min(1), z.literal('always')]).default(1),
})

export type FailNext = z.input<typeof failure>

/**
 * The operations that tests and the demo use to inspect and change the sandbox. All arguments can
 * be written as JSON.
 */
export type PamControl = {
  /**
   * Restores the configured state, without tokens, counts and failures. Keeps the request log and
   * the faults.
   */
  reset(): void

  counts(): PamCounts
  /**
   * All bearer tokens issued since the last reset, so that a test can search the broker's output
   * for them.
   */
  bearerTokens(): string[]

  /**
   * Fails the next request, or the next `times` requests. Failures apply in the order in which they
   * were added.
   */
  failNext(failure: FailNext): void
  clearFailures(): void
  setErrorShape(shape: ErrorShape): void
  /** How a list without elements is written: of groups, and of a group's roles. */
  setEmptyLists(form: EmptyLists): void

  setRateLimit(rateLimit: RateLimit): void

  expireTokens(): void
  addKey(key: z.input<typeof keySchema>): void
  removeKey(keyId: string): void
  /** Expires the key now, or at an RFC 3339 time. */
  expireKey(keyId: string, at?: string): void

  disableTeam(disabled?: boolean): void
  /** Sets `team_name` in token responses. */
  setReportedTeam(name: string): void
  setAccess(serviceUser: string, access: Access): void
  /** Makes this path respond with resource_deprecated; it may contain `{team}`. */
  deprecatePath(path: string): void

  setLinkForm(form: LinkForm, target?: LinkTarget): void
  /** null: no pagination. */
  setPageSize(size: number | null): void

  /**
   * Replaces the generated groups with `count` new ones. With `user`, adds this user to all of
   * them.
   */
  generateGroups(count: number, user?: string): void
  putGroup(group: z.input<typeof groupSchema>): void
  deleteGroup(name: string, deletedAt?: string): void
  /** null deletes the user. */
  setUserGroups(user: string, groupNames: readonly string[] | null): void
  setGroupForm(form: Partial<GroupForm>): void
  /** Lists deleted groups even if the request does not ask for them. */
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
    bearerTokens: () => [...state().tokens.issued()],

    failNext(input) {
      const { times, error, shape, path, method, headers, retrySeconds } = parseInput(
        failure,
        input,
        'failNext',
      )
      const remaining = times === 'always' ? Number.POSITIVE_INFINITY : times
      const upper = method?.toUpperCase()
      state().failures.push({ error, shape, path, method: upper, headers, retrySeconds, remaining })
    },
    clearFailures() {
      state().failures = []
    },
    setErrorShape(shape) {
      state().errorShape = shape
    },
    setEmptyLists(form) {
      state().emptyLists = form
    },

    setRateLimit(input) {
      const rateLimit = parseInput(rateLimitSchema, input, 'setRateLimit')
      state().limiter = createRateLimiter({ rateLimit, now })
    },

    expireTokens: () => state().tokens.expireAll(),
    addKey(input) {
      const key = parseInput(keySchema, input, 'addKey')
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
    putGroup: (group) => state().directory.put(parseInput(groupSchema, group, 'putGroup')),
    deleteGroup(name, deletedAt = new Date(now()).toISOString()) {
      state().directory.remove(name, deletedAt)
    },
    setUserGroups: (user, names) => state().directory.setUserGroups(user, names ?? undefined),
    setGroupForm(form) {
      state().groupForm = parseInput(groupFormSchema, { ...state().groupForm, ...form }, 'setGroupForm')
    },
    showDeleted(shown = true) {
      state().showDeleted = shown
    },

    groups: () => state().directory.groups(),
  }
}
