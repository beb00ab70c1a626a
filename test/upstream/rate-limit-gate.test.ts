import { afterEach, describe, expect, test } from '@jest/globals'
import { storeUnavailable } from '../../src/errors.ts'
import { createMemoryStore, type MemoryEntry } from '../../src/store/memory-store.ts'
import type { Store } from '../../src/store/store.ts'
import {
  createRateLimitGate,
  RateLimitRefusal,
  type ReportResponse,
} from '../../src/upstream/rate-limit-gate.ts'
import type { GateCaller } from '../../src/upstream/rate-limit-record.ts'
import { createUpstreamClock } from '../../src/upstream/upstream-client.ts'
import { deferred } from '../support/deferred.ts'
import { until } from '../support/until.ts'

const START = Date.UTC(2030, 0, 1)
const RECORD = 'gatehouse:limit:authn:v4:scope'
const open: Store[] = []

type Gate = Pick<ReturnType<typeof createRateLimitGate>, 'prefetch'> & {
  enter(asking: GateCaller): Promise<GatePass>
}
/** A call that has been admitted. It ends with `leave`. */
interface GatePass {
  readonly observe: ReportResponse
  leave(): Promise<void>
}

/** Splits `run` in two, so that a test can do anything between a call and its response. */
function inParts({ prefetch, run }: ReturnType<typeof createRateLimitGate>): Gate {
  return {
    prefetch,
    enter: (asking) =>
      new Promise((admit, reject) => {
        const { promise: left, resolve: leave } = deferred()
        const ended = run(asking, async (observe) => {
          admit({
            observe,
            leave() {
              leave()
              return ended
            },
          })
          await left
        })
        ended.catch(reject)
      }),
  }
}

afterEach(async () => {
  for (const store of open.splice(0)) await store.close()
})

/** The API's clock, one store, and replicas whose clocks may be wrong. */
function world() {
  let elapsed = 0
  let away = false
  let delivered = Promise.resolve()
  const entries = new Map<string, MemoryEntry>()
  const memory = createMemoryStore({ monotonic: () => elapsed, entries })
  const asked: string[] = []
  const reached =
    <Args extends unknown[], Reply>(name: string, operation: (...args: Args) => Promise<Reply>) =>
    async (...args: Args) => {
      asked.push(name)
      if (away) throw storeUnavailable()
      return operation(...args)
    }
  const store = {
    get: reached('get', async (key: string) => {
      const text = await memory.get(key)
      await delivered
      return text
    }),
    set: reached('set', memory.set),
    delete: reached('delete', memory.delete),
    deleteIf: reached('deleteIf', memory.deleteIf),
  }
  open.push(memory)
  const nowMs = () => START + elapsed
  const replica = ({ skewMs = 0, refreshEveryMs = 0, jitterMs = 0, asleep = Promise.resolve() } = {}) => {
    const clock = createUpstreamClock({ now: () => nowMs() + skewMs, monotonic: () => elapsed })
    const outcomes: string[] = []
    const gate = inParts(
      createRateLimitGate({
        store,
        clock,
        monotonic: () => elapsed,
        api: 'authn',
        scope: () => 'scope',
        prefix: 'x-rate-limit',
        reserveShare: 0.1,
        maxClosedMs: 300_000,
        jitterMs,
        refreshEveryMs,
        random: () => 1,
        async sleep(ms) {
          await asleep
          elapsed += ms
        },
        onOutcome: (outcome) => outcomes.push(outcome),
        onUnreadable: () => outcomes.push('unreadable'),
      }),
    )
    const answered = async (pass: GatePass, headers: Record<string, string>, limited = false) => {
      const date = new Date(nowMs()).toUTCString()
      const answer = {
        status: limited ? 429 : 200,
        headers: { date, ...headers },
        json: undefined,
        bytes: Buffer.alloc(0),
      }
      clock.observe(answer)
      await pass.observe(answer, limited)
      await pass.leave()
    }
    return { gate, outcomes, answered }
  }
  const resetIn = (seconds: number) => String(Math.ceil(nowMs() / 1000) + seconds)
  return {
    entries,
    asked,
    replica,
    advance: (ms: number) => {
      elapsed += ms
    },
    loseStore: (lost: boolean) => {
      away = lost
    },
    /** Delays the results of reads until the returned function is called. */
    holdReads: () => {
      const { promise, resolve } = deferred()
      delivered = promise
      return resolve
    },
    used: (seconds: number) => ({
      'x-rate-limit-limit': '600',
      'x-rate-limit-remaining': '0',
      'x-rate-limit-reset': resetIn(seconds),
    }),
    left: (remaining: number, seconds = 60) => ({
      'x-rate-limit-limit': '600',
      'x-rate-limit-remaining': String(remaining),
      'x-rate-limit-reset': resetIn(seconds),
    }),
  }
}

const caller = (priority: GateCaller['priority'], ...parties: string[]): GateCaller => ({
  priority,
  budget: { leftMs: 1000 },
  parties: () => parties,
})
const refused = async (gate: Gate, asking: GateCaller): Promise<RateLimitRefusal | undefined> => {
  try {
    await (await gate.enter(asking)).leave()
    return undefined
  } catch (error) {
    expect(error).toBeInstanceOf(RateLimitRefusal)
    return error as RateLimitRefusal // just checked
  }
}
const ADA = ['address-a', 'ada']
const BEA = ['address-b', 'bea']
const CLEO = ['address-c', 'cleo']
const DORA = ['address-d', 'dora']
const ELSA = ['address-e', 'elsa']

describe('an exhausted limit', () => {
  test('seen by one replica, closes the gate for all until the reset; then one probe is sent', async () => {
    const { replica, used, left, advance } = world()
    const [one, other] = [replica(), replica()]
    await one.answered(await one.gate.enter(caller('new')), used(30), true)
    for (const { gate } of [one, other]) {
      expect(await refused(gate, caller('ongoing'))).toMatchObject({ waitMs: 30_000, limit: 600 })
    }

    advance(30_001)
    const probe = await other.gate.enter(caller('new'))
    expect(other.outcomes).toEqual(['refused', 'probe'])
    expect(await refused(one.gate, caller('ongoing'))).toBeInstanceOf(RateLimitRefusal)
    await other.answered(probe, left(599))
    for (const { gate } of [one, other]) expect(await refused(gate, caller('new'))).toBeUndefined()
  })

  test('callers that wait for the probe are sent after its response', async () => {
    const { replica, used, left, advance } = world()
    const { promise: asleep, resolve: wake } = deferred()
    const { gate, answered, outcomes } = replica({ asleep })
    await answered(await gate.enter(caller('new')), used(30), true)
    advance(30_001)
    const probe = await gate.enter(caller('new'))
    const waiting = gate.enter(caller('new'))
    await until(() => outcomes.includes('waited'))
    await answered(probe, left(599))
    wake()
    await (await waiting).leave()
    expect(outcomes).toEqual(['probe', 'waited'])
  })

  test.each([3_600_000, -3_600_000])(
    'a system clock that is wrong by %i ms has no effect',
    async (skewMs) => {
      const { replica, used, advance } = world()
      const one = replica({ skewMs })
      await one.answered(await one.gate.enter(caller('new', ...ADA)), used(30), true)
      expect((await refused(one.gate, caller('new', ...ADA)))?.waitMs).toBe(30_000)
      advance(30_001)
      expect(await refused(one.gate, caller('new', ...ADA))).toBeUndefined()
    },
  )

  test('a replica without a response yet and with a slow clock waits no longer than the others', async () => {
    const { replica, used } = world()
    const [one, late] = [replica(), replica({ skewMs: -3_600_000 })]
    await one.answered(await one.gate.enter(caller('new', ...ADA)), used(30), true)
    expect((await refused(late.gate, caller('new', ...ADA)))?.waitMs).toBe(30_000)
  })

  test('without the store, each replica uses only its own responses', async () => {
    const { replica, used, loseStore, advance } = world()
    const [one, other] = [replica(), replica()]
    loseStore(true)
    await one.answered(await one.gate.enter(caller('new', ...ADA)), used(30), true)
    expect(await refused(one.gate, caller('new', ...ADA))).toMatchObject({ waitMs: 30_000 })
    expect(await refused(other.gate, caller('new', ...ADA))).toBeUndefined()
    loseStore(false)
    expect(await refused(one.gate, caller('new', ...ADA))).toMatchObject({ waitMs: 30_000 })
    advance(30_001)
    expect(await refused(one.gate, caller('new', ...ADA))).toBeUndefined()
  })

  test('the response to a call that was in flight when the gate closed does not open it', async () => {
    const { replica, used, left } = world()
    const { gate, answered } = replica()
    const onItsWay = await gate.enter(caller('new', ...BEA))
    await answered(await gate.enter(caller('new', ...ADA)), used(30), true)
    await answered(onItsWay, left(300))
    expect(await refused(gate, caller('new', ...ADA))).toMatchObject({ waitMs: 30_000 })
  })

  test('a record that was read before this process reached the limit does not replace the newer one', async () => {
    const { replica, used, left, holdReads } = world()
    const { gate, answered } = replica()
    await answered(await gate.enter(caller('ongoing')), left(60)) // the stored record
    const pass = await gate.enter(caller('ongoing'))
    const release = holdReads()
    const next = refused(gate, caller('ongoing'))
    await answered(pass, used(30), true)
    release()
    expect(await next).toMatchObject({ waitMs: 30_000, limit: 600 })
  })

  test('a reset that is years away closes the gate for maxClosedMs at most, jitter included', async () => {
    const { replica, used } = world()
    const { gate, answered } = replica({ jitterMs: 500 })
    await answered(await gate.enter(caller('new', ...ADA)), used(500_000_000), true)
    expect(await refused(gate, caller('new', ...ADA))).toMatchObject({ waitMs: 300_000 })
  })

  test('calls are sent with jitter after the reset', async () => {
    const { replica, used } = world()
    const { gate, answered } = replica({ jitterMs: 500 })
    await answered(await gate.enter(caller('new', ...ADA)), used(30), true)
    expect(await refused(gate, caller('new', ...ADA))).toMatchObject({ waitMs: 30_500 })
  })

  test.each([{}, { 'x-rate-limit-reset': '1' }])(
    'a 429 with the headers %j holds for a second',
    async (headers) => {
      const { replica } = world()
      const { gate, answered } = replica()
      await answered(await gate.enter(caller('new', ...ADA)), headers, true)
      expect(await refused(gate, caller('background', ...ADA))).toMatchObject({ waitMs: 1000 })
      const waiting = caller('new', ...ADA)
      expect(await refused(gate, waiting)).toBeUndefined()
      expect(waiting.budget.leftMs).toBe(0)
    },
  )

  test('without the store, each process sends its own probe, one at a time', async () => {
    const { replica, used, loseStore, advance } = world()
    const { gate, answered, outcomes } = replica()
    loseStore(true)
    await answered(await gate.enter(caller('new')), used(30), true)
    advance(30_001)
    await gate.enter(caller('new'))
    expect(await refused(gate, caller('new'))).toBeDefined()
    expect(outcomes).toEqual(['probe', 'waited', 'refused'])
  })

  test('a closed gate that the store has forgotten is open on the replicas that did not close it', async () => {
    const { replica, used, entries } = world()
    const [one, other] = [replica(), replica()]
    await one.answered(await one.gate.enter(caller('new')), used(30), true)
    expect(await refused(other.gate, caller('new'))).toBeDefined()
    entries.clear()
    expect(await refused(other.gate, caller('new'))).toBeUndefined()
    expect(await refused(one.gate, caller('new'))).toBeDefined()
  })
})

describe('a limit of one caller or of all', () => {
  type Replica = ReturnType<ReturnType<typeof world>['replica']>
  const meets = async ({ gate, answered }: Replica, used: Record<string, string>, asking: GateCaller) =>
    answered(await gate.enter(asking), used, true)

  test('a 429 holds its caller on every replica; a caller without one of its parties is not held', async () => {
    const { replica, used } = world()
    const [one, other] = [replica(), replica()]
    await meets(one, used(60), caller('new', ...ADA))
    for (const { gate, outcomes } of [one, other]) {
      expect(await refused(gate, caller('ongoing', ...ADA))).toMatchObject({ waitMs: 60_000, limit: 600 })
      expect(await refused(gate, caller('new', ...ADA, 'and more'))).toBeDefined()
      for (const parties of [BEA, ['address-a', 'bea'], ['address-b', 'ada'], ['address-a'], []])
        expect(await refused(gate, caller('new', ...parties))).toBeUndefined()
      expect(outcomes).toEqual(['refused', 'refused'])
    }
  })

  test('429s to related callers do not close the gate for others', async () => {
    const { replica, used } = world()
    const one = replica()
    for (const name of ['ada', 'bea', 'cleo']) await meets(one, used(60), caller('new', 'address-a', name))
    for (let n = 0; n < 3; n++) {
      expect(await refused(one.gate, caller('new', 'address-a', `${n}`))).toBeUndefined()
      expect(await refused(one.gate, caller('new', ...ELSA))).toBeUndefined()
    }
    expect(one.outcomes).toEqual([])
  })

  test('429s to two unrelated callers close the gate for all, and one probe at a time is sent', async () => {
    const { replica, used, left, advance } = world()
    const [one, other] = [replica(), replica()]
    await meets(one, used(60), caller('new', ...ADA))
    await meets(other, used(60), caller('new', ...BEA))
    const probe = await other.gate.enter(caller('new', ...CLEO))
    expect(other.outcomes).toEqual(['probe'])
    for (const { gate } of [one, other]) expect(await refused(gate, caller('ongoing', ...DORA))).toBeDefined()
    await other.answered(probe, used(60), true)
    for (const { gate } of [one, other]) {
      const dora = caller('new', ...DORA)
      expect(await refused(gate, dora)).toBeDefined()
      expect(dora.budget.leftMs).toBe(1000) // no time was spent waiting
    }

    advance(5001)
    await other.answered(await other.gate.enter(caller('new', ...DORA)), left(500))
    for (const { gate } of [one, other]) {
      expect(await refused(gate, caller('new', ...ELSA))).toBeUndefined()
      for (const met of [ADA, BEA, CLEO]) expect(await refused(gate, caller('new', ...met))).toBeDefined()
    }
  })

  test('a caller with the same address as a held caller can be the probe, because all may share one address', async () => {
    const { replica, used, left } = world()
    const { gate, answered, outcomes } = replica()
    await answered(await gate.enter(caller('new', ...ADA)), used(60), true)
    await answered(await gate.enter(caller('new', ...BEA)), used(60), true)
    await answered(await gate.enter(caller('new', 'address-a', 'cleo')), left(500))
    expect(await refused(gate, caller('new', 'address-a', 'dora'))).toBeUndefined()
    expect(await refused(gate, caller('new', ...ADA))).toBeDefined()
    expect(outcomes).toEqual(['probe', 'refused'])
  })

  test('after the reset one probe is sent, and after its response all calls', async () => {
    const { replica, used, left, advance } = world()
    const [one, other] = [replica(), replica()]
    await meets(one, used(60), caller('new', ...ADA))
    await meets(other, used(60), caller('new', ...BEA))
    await meets(other, used(60), caller('new', ...CLEO))
    advance(60_001)
    const first = await other.gate.enter(caller('new', ...ELSA))
    expect(await refused(one.gate, caller('ongoing', ...ADA))).toBeDefined()
    await other.answered(first, left(599))
    for (const { gate } of [one, other])
      for (const parties of [ADA, BEA, CLEO])
        expect(await refused(gate, caller('new', ...parties))).toBeUndefined()
  })

  test('a replica that does not know yet that the probe was refused sends no other one', async () => {
    const { replica, used, advance } = world()
    const [one, other] = [replica(), replica({ refreshEveryMs: 250 })]
    await meets(one, used(60), caller('new', ...ADA))
    await meets(one, used(60), caller('new', ...BEA))
    other.gate.prefetch()
    advance(1)
    await meets(one, used(60), caller('new', ...CLEO)) // the probe
    expect(await refused(other.gate, caller('new', ...DORA))).toBeDefined()
    expect(other.outcomes).not.toContain('probe')
  })

  test('a replica that does not know yet that the gate is open sends no probe', async () => {
    const { replica, used, left, advance, entries } = world()
    const [one, other] = [replica(), replica({ refreshEveryMs: 250 })]
    await meets(one, used(60), caller('new', ...ADA))
    await meets(one, used(60), caller('new', ...BEA))
    other.gate.prefetch()
    advance(1)
    await one.answered(await one.gate.enter(caller('new', ...CLEO)), left(500))
    await other.gate.enter(caller('new', ...DORA))
    expect(other.outcomes).not.toContain('probe')
    expect([...entries.keys()]).toEqual([RECORD])
  })

  test('callers that wait on another replica are sent after the response to the probe', async () => {
    const { replica, used, left } = world()
    const { promise: asleep, resolve: wake } = deferred()
    const [one, other] = [replica(), replica({ refreshEveryMs: 60_000, asleep })]
    await meets(one, used(60), caller('new', ...ADA))
    await meets(one, used(60), caller('new', ...BEA))
    const probe = await one.gate.enter(caller('new', ...CLEO))
    const waiting = other.gate.enter(caller('new', ...DORA))
    await until(() => other.outcomes.includes('waited'))
    await one.answered(probe, left(500))
    wake()
    await (await waiting).leave()
  })

  test('while a process waits for its own probe, it does not ask the store for another one', async () => {
    const { replica, used, asked } = world()
    const { gate, answered } = replica()
    await answered(await gate.enter(caller('new', ...ADA)), used(60))
    await gate.enter(caller('new', ...BEA))
    asked.length = 0
    expect((await refused(gate, caller('new', ...CLEO)))?.waitMs).toBeGreaterThan(50_000)
    expect(asked).not.toContain('set')
  })

  test('a 429 to a call in flight does not bring the next probe forward', async () => {
    const { replica, used } = world()
    const { gate, answered, outcomes } = replica()
    const onItsWay = await gate.enter(caller('new', ...DORA))
    await answered(await gate.enter(caller('new', ...ADA)), used(60))
    await answered(await gate.enter(caller('new', ...BEA)), used(60), true) // the probe
    await answered(onItsWay, used(60), true)
    expect(await refused(gate, caller('new', ...ELSA))).toBeDefined()
    expect(outcomes).toEqual(['probe', 'refused'])
  })

  test('a 429 whose reset has passed does not count', async () => {
    const one = world()
    const met = one.replica()
    await meets(met, one.used(1), caller('new', ...ADA))
    one.advance(1001)
    await meets(met, one.used(60), caller('new', ...BEA))
    await met.gate.enter(caller('new', ...CLEO))
    expect(met.outcomes).toEqual([])
  })

  test('at most 20 callers are held, so that the record stays small', async () => {
    const { replica, used } = world()
    const one = replica()
    for (let n = 0; n < 21; n++) await meets(one, used(60), caller('new', 'address-a', `name-${n}`))
    expect(await refused(one.gate, caller('new', 'address-a', 'name-0'))).toBeUndefined()
    expect(await refused(one.gate, caller('new', 'address-a', 'name-1'))).toBeDefined()
  })

  test('a probe that was refused before the reset delays the next one until the reset, and no longer', async () => {
    const { replica, used, left, advance } = world()
    const [one, other] = [replica(), replica()]
    for (const met of [ADA, BEA, CLEO]) await meets(one, used(3), caller('new', ...met)) // the last one is the probe
    expect(await refused(other.gate, caller('new', ...DORA))).toBeDefined()
    advance(3001)
    await other.answered(await other.gate.enter(caller('new', ...DORA)), left(500))
    expect(await refused(one.gate, caller('new', ...ELSA))).toBeUndefined()
  })

  test('a probe that was refused after the reset does not delay the probe after the next reset', async () => {
    const { replica, used, left, advance } = world()
    const [one, other] = [replica(), replica()]
    for (let n = 0; n < 3; n++) {
      await meets(one, used(1), caller('new'))
      advance(2001)
    }
    await other.answered(await other.gate.enter(caller('new')), left(500))
    expect([one.outcomes, other.outcomes]).toEqual([['probe', 'probe'], ['probe']])
  })

  test('a response with no requests remaining closes the gate for all, although it is no 429', async () => {
    const { replica, used, left } = world()
    const [one, other] = [replica(), replica()]
    await one.answered(await one.gate.enter(caller('new', ...ADA)), used(60))
    const probe = await other.gate.enter(caller('new', ...BEA))
    expect(await refused(other.gate, caller('ongoing', ...CLEO))).toMatchObject({ limit: 600 })
    await other.answered(probe, left(500)) // the limit was the caller's own
    expect(await refused(one.gate, caller('new', ...CLEO))).toBeUndefined()
    expect(await refused(one.gate, caller('new', ...ADA))).toBeDefined()
  })

  test('the response to a call in flight does not open a gate that was closed for all', async () => {
    const { replica, used, left } = world()
    const one = replica()
    const onItsWay = await one.gate.enter(caller('new', ...CLEO))
    await one.answered(await one.gate.enter(caller('new', ...ADA)), used(60))
    const probe = await one.gate.enter(caller('new', ...BEA))
    await one.answered(onItsWay, left(300))
    expect(await refused(one.gate, caller('new', ...ELSA))).toBeDefined()
    await probe.leave()
  })

  test('several callers in turn can reach their own limits with little effect on the others', async () => {
    const { replica, used, left, advance } = world()
    const [one, other] = [replica(), replica()]
    for (let n = 0; n < 20; n++) {
      advance(1)
      const met = caller('new', `address-${n}`, `name-${n}`)
      await meets(one, used(60), met)
      const next = await other.gate.enter(caller('new', ...BEA))
      const waiting = other.gate.enter(caller('new', ...CLEO))
      await other.answered(next, left(500))
      await (await waiting).leave()
      expect(await refused(one.gate, met)).toBeDefined()
    }
  })

  test('after a probe without a response, the next one is sent at once', async () => {
    const { replica, used, left } = world()
    const [one, other] = [replica(), replica()]
    await meets(one, used(60), caller('new', ...ADA))
    await meets(other, used(60), caller('new', ...BEA))
    const lost = await one.gate.enter(caller('new', ...CLEO))
    expect(await refused(other.gate, caller('new', ...DORA))).toBeDefined()
    await lost.leave()
    await other.answered(await other.gate.enter(caller('new', ...DORA)), left(500))
    expect(await refused(one.gate, caller('new', ...ELSA))).toBeUndefined()
  })

  test('a probe whose response has few requests remaining opens the gate for sign-ins in progress', async () => {
    const { replica, used, left } = world()
    const { gate, answered } = replica()
    await answered(await gate.enter(caller('new', ...ADA)), used(60))
    await answered(await gate.enter(caller('ongoing', ...BEA)), left(60))
    expect(await refused(gate, caller('ongoing', ...CLEO))).toBeUndefined()
    expect(await refused(gate, caller('new', ...CLEO))).toBeDefined()
  })

  test('the response to a probe of an earlier closing does not open a gate that has closed again', async () => {
    const { replica, used, left, advance } = world()
    const { gate, answered } = replica()
    await answered(await gate.enter(caller('new', ...ADA)), used(60))
    const slow = await gate.enter(caller('new', ...BEA))
    advance(5001)
    await answered(await gate.enter(caller('new', ...CLEO)), left(500))
    advance(1)
    await answered(await gate.enter(caller('new', ...DORA)), used(60))
    const probe = await gate.enter(caller('new', ...ELSA))
    await answered(slow, left(500))
    expect(await refused(gate, caller('new', ...CLEO))).toBeDefined()
    await probe.leave()
  })
})

describe('few requests remaining', () => {
  test('new sign-ins are refused until the reset, and sign-ins in progress continue, on every replica', async () => {
    const { replica, left, advance } = world()
    const [one, other] = [replica(), replica()]
    await one.answered(await one.gate.enter(caller('ongoing', ...ADA)), left(60))
    for (const { gate, outcomes } of [one, other]) {
      expect(await refused(gate, caller('new', ...ADA))).toMatchObject({ waitMs: 60_000, limit: 600 })
      expect(await refused(gate, caller('ongoing', ...ADA))).toBeUndefined()
      expect(outcomes).toEqual(['deferred'])
    }
    await one.answered(await one.gate.enter(caller('ongoing', ...ADA)), left(590))
    expect(await refused(one.gate, caller('new', ...ADA))).toBeDefined() // a late response from the same period
    advance(60_001)
    expect(await refused(one.gate, caller('new', ...ADA))).toBeUndefined()
  })

  test('the last requests, probes included, are reserved for sign-ins in progress', async () => {
    const { replica, left, used } = world()
    const { gate, answered, outcomes } = replica()
    await answered(await gate.enter(caller('ongoing', ...ADA)), left(1))
    await answered(await gate.enter(caller('ongoing', ...BEA)), used(60))
    expect(await refused(gate, caller('new', ...CLEO))).toBeDefined()
    expect(await refused(gate, caller('ongoing', ...CLEO))).toBeUndefined()
    expect(outcomes).toEqual(['deferred', 'probe'])
  })

  test('requests are reserved for maxClosedMs at most', async () => {
    const { replica, left } = world()
    const { gate, answered } = replica()
    await answered(await gate.enter(caller('ongoing', ...ADA)), left(60, 500_000_000))
    expect(await refused(gate, caller('new', ...ADA))).toMatchObject({ waitMs: 300_000 })
  })

  test('the first response of a new period ends the reservation at once', async () => {
    const { replica, left, advance } = world()
    const { gate, answered } = replica()
    await answered(await gate.enter(caller('ongoing', ...ADA)), left(60, 30))
    advance(29_000)
    await answered(await gate.enter(caller('ongoing', ...ADA)), left(599, 61))
    expect(await refused(gate, caller('new', ...ADA))).toBeUndefined()
  })
})

describe('store operations', () => {
  test('with enough requests remaining, nothing is written, and the store is read at intervals', async () => {
    const { replica, left, asked, advance, entries } = world()
    const { gate, answered } = replica({ refreshEveryMs: 250 })
    for (let n = 0; n < 50; n++) await answered(await gate.enter(caller('new', ...ADA)), left(500))
    expect(asked).toEqual(['get'])
    advance(250)
    await answered(await gate.enter(caller('new', ...ADA)), left(500))
    expect(asked).toEqual(['get', 'get'])
    expect(entries.size).toBe(0)
  })

  test('a read in progress is awaited, not repeated', async () => {
    const { replica, used, asked } = world()
    const [one, other] = [replica(), replica({ refreshEveryMs: 250 })]
    await one.answered(await one.gate.enter(caller('new', ...ADA)), used(60), true)
    asked.length = 0
    other.gate.prefetch()
    expect(await refused(other.gate, caller('new', ...ADA))).toBeDefined()
    expect(asked).toEqual(['get'])
  })

  test('every record expires', async () => {
    const { replica, used, entries, advance } = world()
    const { gate, answered } = replica()
    await answered(await gate.enter(caller('new', ...ADA)), used(60), true)
    await answered(await gate.enter(caller('new', ...BEA)), used(60), true)
    await gate.enter(caller('new', ...CLEO))
    expect(entries.size).toBe(2) // the record and the key of the probe, which has no response
    advance(90_000)
    expect([...entries.values()].every(({ expiresAt }) => expiresAt <= 90_000)).toBe(true)
  })
})

test.each([
  'not JSON',
  'null',
  '{}',
  JSON.stringify({ version: 3, closed: 'shut' }),
  JSON.stringify({ state: 'closed', untilMs: 9e15 }),
])('an unreadable record (%s) is treated as missing', async (text) => {
  const { replica, entries } = world()
  entries.set(RECORD, { content: text, expiresAt: 1e9 })
  const { gate, outcomes } = replica()
  expect(await refused(gate, caller('new', ...ADA))).toBeUndefined()
  expect(outcomes).toEqual(['unreadable'])
  expect(entries.get(RECORD)?.content).toBe(text)
})
