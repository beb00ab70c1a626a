import {
  type Access,
  type Edition,
  type EmptyLists,
  GROUP_FORMS,
  type GroupForm,
  type PamConfig,
} from './pam-config.ts'
import { createPamDirectory, type PamDirectory } from './pam-directory.ts'
import type { ErrorShape, PamErrorName } from './pam-errors.ts'
import type { LinkForm, LinkTarget } from './pam-links.ts'
import { createRateLimiter, type RateLimiter } from './pam-rate-limit.ts'
import { createPamTokens, type PamTokens } from './pam-tokens.ts'

/** An error that a test requested for the next `remaining` matching requests. */
export type Failure = {
  error: PamErrorName
  shape: ErrorShape | undefined
  path: string | undefined
  method: string | undefined
  headers: Record<string, string>
  retrySeconds: number
  remaining: number
}

/** Served requests, and errors by name. A list is counted when its first page is served. */
export type PamCounts = {
  requests: number
  tokenRequests: number
  tokensMinted: number
  groupLists: number
  groupPages: number
  userLists: Record<string, number>
  userPages: Record<string, number>
  errors: Partial<Record<PamErrorName, number>>
}

/** The state of the PAM API. Times are in milliseconds. */
export type PamState = {
  readonly team: string
  readonly edition: Edition
  readonly groupQuota: number
  readonly linkOrigin: string | undefined
  readonly deletedServerTokens: ReadonlySet<string>
  readonly deprecatedPaths: Set<string>
  readonly access: Map<string, Access>
  readonly directory: PamDirectory
  readonly tokens: PamTokens
  readonly counts: PamCounts
  limiter: RateLimiter
  teamDisabled: boolean
  /** `team_name` in token responses. */
  reportedTeam: string
  /** undefined: no pagination. */
  pageSize: number | undefined
  showDeleted: boolean
  groupForm: GroupForm
  errorShape: ErrorShape
  emptyLists: EmptyLists
  linkForm: LinkForm
  linkTarget: LinkTarget
  failures: Failure[]
}

export function createPamState({
  config,
  now,
  random,
}: {
  config: PamConfig
  now: () => number
  random: (bytes: number) => Buffer
}): PamState {
  return {
    team: config.team,
    edition: config.edition,
    groupQuota: config.groupQuota,
    linkOrigin: config.linkOrigin === undefined ? undefined : new URL(config.linkOrigin).origin,
    deletedServerTokens: new Set(config.deletedServerTokens),
    deprecatedPaths: new Set(config.deprecatedPaths.map((path) => path.replace('{team}', config.team))),
    access: new Map(Object.entries(config.serviceUsers).map(([user, { access }]) => [user, access])),
    directory: createPamDirectory(config),
    tokens: createPamTokens({ keys: config.keys, lifetimeSeconds: config.tokenLifetimeSeconds, now, random }),
    counts: {
      requests: 0,
      tokenRequests: 0,
      tokensMinted: 0,
      groupLists: 0,
      groupPages: 0,
      userLists: {},
      userPages: {},
      errors: {},
    },
    limiter: createRateLimiter({ rateLimit: config.rateLimit, now }),
    teamDisabled: config.teamDisabled,
    reportedTeam: config.team,
    pageSize: config.pageSize,
    showDeleted: false,
    groupForm: config.groupForm ?? GROUP_FORMS[config.edition],
    errorShape: config.errorShape,
    emptyLists: config.emptyLists,
    linkForm: 'plain',
    linkTarget: {},
    failures: [],
  }
}
