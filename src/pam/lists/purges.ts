import { randomUUID } from 'node:crypto'
import type { ListRef } from '../upstream/group.ts'
import type { PamDeps } from '../upstream/pam-deps.ts'
import { PamFailure } from '../upstream/pam-errors.ts'

export type Purges = ReturnType<typeof createPurges>

/** Longer than anything that was read before a purge is kept. */
const GENERATION_MS = 86_400_000

/** How long PAM is not asked again if the team is disabled. */
const TEAM_DISABLED_MS = 5 * 60_000

/**
 * The names of lists' records. A name has the generations of the list and of the team. A purge begins a new generation, so what any
 * replica has read before, or is reading now, is not found any more.
 */
export function createPurges({ values, scope, keyOf, clock }: PamDeps) {
  const generationOf = (id: string) => keyOf('limit:pam-purge', [id])
  const purge = (id: string) => values.set(generationOf(id), randomUUID(), GENERATION_MS)
  const pauseKey = keyOf('limit:pam-team')

  return {
    async nameOf(ref: ListRef): Promise<string> {
      const generations = await Promise.all([TEAM, idOf(ref)].map((id) => values.get(generationOf(id))))
      return JSON.stringify([scope, idOf(ref), ...generations])
    },

    purge: (ref: ListRef) => purge(idOf(ref)),

    /** Purges all lists. For a while, no replica reads one. */
    async pauseTeam(): Promise<void> {
      await values.set(pauseKey, String(clock.now() + TEAM_DISABLED_MS), TEAM_DISABLED_MS)
      await purge(TEAM)
    },

    /** @throws PamFailure `disabled_team` during the pause */
    async checkTeam(): Promise<void> {
      const untilMs = await values.get(pauseKey)
      if (untilMs === undefined) return
      // PAM's clock may have been ahead when the pause began.
      const retryAfterMs = Math.min(Number(untilMs) - clock.now(), TEAM_DISABLED_MS)
      throw new PamFailure('disabled_team', { retryAfterMs })
    },
  }
}

const TEAM = 'team'

export function idOf(ref: ListRef): string {
  return ref.kind === 'me' ? `me ${ref.user}` : 'directory'
}
