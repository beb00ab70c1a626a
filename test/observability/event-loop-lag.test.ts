import { expect, test } from '@jest/globals'
import { watchEventLoopLag } from '../../src/observability/event-loop-lag.ts'
import { until } from '../support/until.ts'

const standStill = (ms: number) => {
  const end = performance.now() + ms
  while (performance.now() < end) Math.sqrt(end)
}

test('the lag of a busy process is measured, and falls afterwards', async () => {
  const lag = watchEventLoopLag({ windowMs: 200 })
  try {
    expect(lag.ms).toBe(0)
    await until(
      () => {
        standStill(100)
        return lag.ms > 40
      },
      { everyMs: 1 },
    )
    await until(() => lag.ms < 40)
  } finally {
    lag.stop()
  }
})
