import { expect, test } from '@jest/globals'
import { createClaimedStep } from '../../../src/authn/coalescing/claimed-step.ts'
import type { StepClaim } from '../../../src/authn/coalescing/step-claims.ts'
import { collectLog } from '../../observability/collect-log.ts'
import { held } from '../../support/held.ts'

const CLAIM: StepClaim = {
  claimed: true,
  holder: 'token',
  value: undefined,
  name: 'name',
  token: 'token',
  place: 'place',
}
const CLAIMED = { names: ['name'], fingerprint: 'fingerprint' } as const
const OUTCOME = {
  kind: 'answer',
  status: 200,
  body: '{}',
  headers: {},
  errorCode: undefined,
  sessionId: 'session',
} as const

/** A step that opens a session, in a store that keeps the order of its writes or not. */
function opening({ keepsOrder, isSettled = true }: { keepsOrder: boolean; isSettled?: boolean }) {
  const done: string[] = []
  const session = held()
  const perform = createClaimedStep({
    claims: {
      keepsOrder: () => keepsOrder,
      async settle() {
        done.push('settled')
        return isSettled
      },
      async release() {
        done.push('released')
      },
      async unshare() {
        done.push('unshared')
      },
    },
    log: collectLog().log,
  })
  const outcome = perform(CLAIM, CLAIMED, async () => ({
    outcome: OUTCOME,
    record: 'delete',
    async first() {
      await session.gone
      done.push('session written')
    },
    async undo() {
      done.push('session taken back')
    },
  }))
  return { outcome, done, session }
}

/** All that can go on without the session's write has gone on by then. */
const turn = () => new Promise((resolve) => setImmediate(resolve))

test('where writes may overtake each other, a step is not settled before its session is written', async () => {
  const { outcome, done, session } = opening({ keepsOrder: false })
  await turn()
  expect(done).toEqual([])
  session.letGo()
  await outcome
  expect(done).toEqual(['session written', 'settled'])
})

test('where they keep their order, all goes out at once', async () => {
  const { outcome, done, session } = opening({ keepsOrder: true })
  await turn()
  expect(done).toEqual(['settled'])
  session.letGo()
  await outcome
})

test.each([true, false])(
  'a transaction that was ended meanwhile takes its session along',
  async (keepsOrder) => {
    const { outcome, done, session } = opening({ keepsOrder, isSettled: false })
    session.letGo()
    await expect(outcome).rejects.toMatchObject({ status: 503 })
    expect(done.slice(2).toSorted()).toEqual(['released', 'session taken back', 'unshared'])
  },
)
