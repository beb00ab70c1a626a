import { BrokerTrouble } from '../parts/call.js'

const EVERY_MS = 2000
/** After a 429 or a lost connection; then it is an error. */
const BACK_OFF_MS = [1000, 2000, 4000, 8000, 16_000]

/**
 * Asks again until the answer is another than "waiting"; undefined when its screen is gone.
 * @param onPause called with what is in the way just now, and with undefined when it is over
 */
export async function poll<Answer>(
  isShown: () => boolean,
  ask: () => Promise<Answer>,
  isWaiting: (answer: Answer) => boolean,
  onPause: (error: unknown) => void,
): Promise<Answer | undefined> {
  for (let failures = 0; ; ) {
    const pauseMs = BACK_OFF_MS[failures - 1] ?? EVERY_MS
    await new Promise((resume) => setTimeout(resume, pauseMs))
    if (!isShown()) return undefined
    try {
      const answer = await ask()
      if (!isShown()) return undefined
      if (!isWaiting(answer)) return answer
      if (failures > 0) onPause(undefined)
      failures = 0
    } catch (error) {
      if (!isShown()) return undefined
      const isPassing = error instanceof BrokerTrouble && [0, 429].includes(error.status)
      if (!isPassing || failures === BACK_OFF_MS.length) throw error
      failures += 1
      onPause(error)
    }
  }
}
