import { BrokerTrouble } from './broker.js'
import type { Screen } from './screen.js'

const EVERY_MS = 2000
/** After a 429 or a lost connection; then it is an error. */
const BACK_OFF_MS = [1000, 2000, 4000, 8000, 16_000]

export interface PollParts<Answer> {
  readonly screen: Screen
  readonly ask: () => Promise<Answer>
  readonly isWaiting: (answer: Answer) => boolean
  readonly onAnswer: (answer: Answer) => Promise<void> | void
  readonly onError: (error: unknown) => void
  /** Called with what is in the way just now, and with undefined when it is over. */
  readonly onPause: (error: unknown) => void
}

/** Asks again until the answer is another than "waiting"; ends quietly when its screen is gone. */
export async function poll<Answer>(parts: PollParts<Answer>): Promise<void> {
  const { screen, ask, isWaiting, onAnswer, onError, onPause } = parts
  let failures = 0
  let pauseMs = EVERY_MS
  for (;;) {
    await new Promise((resume) => setTimeout(resume, pauseMs))
    if (!screen.isShown()) return
    try {
      const answer = await ask()
      if (!screen.isShown()) return
      if (!isWaiting(answer)) return await onAnswer(answer)
      if (failures > 0) onPause(undefined)
      failures = 0
      pauseMs = EVERY_MS
    } catch (error) {
      if (!screen.isShown()) return
      const backOffMs = isPassing(error) ? BACK_OFF_MS[failures] : undefined
      if (backOffMs === undefined) return onError(error)
      failures += 1
      pauseMs = backOffMs
      onPause(error)
    }
  }
}

function isPassing(error: unknown): boolean {
  return error instanceof BrokerTrouble && (error.status === 429 || error.status === 0)
}
