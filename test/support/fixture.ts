import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals'

export interface FixtureOptions<Fixture> {
  readonly start: () => Promise<Fixture>
  /** Runs before each test. */
  readonly reset?: (fixture: Fixture) => void
  readonly stop: (fixture: Fixture) => Promise<void>
}

/**
 * One fixture for all tests of a file: started before the first test and stopped after the last.
 */
export function useFixture<Fixture extends object>({ start, reset, stop }: FixtureOptions<Fixture>): Fixture {
  let started: Fixture | undefined
  beforeAll(async () => {
    started = await start()
  })
  beforeEach(() => started && reset?.(started))
  afterAll(async () => {
    if (started !== undefined) await stop(started)
  })
  return whileStarted(() => started)
}

/** A new fixture for each test of a file, stopped after the test. */
export function useFreshFixture<Fixture extends object>({
  start,
  stop,
}: Omit<FixtureOptions<Fixture>, 'reset'>): Fixture {
  let started: Fixture | undefined
  beforeEach(async () => {
    started = await start()
  })
  afterEach(async () => {
    if (started !== undefined) await stop(started)
    started = undefined
  })
  return whileStarted(() => started)
}

function whileStarted<Fixture extends object>(fixture: () => Fixture | undefined): Fixture {
  const get = (_: Fixture, name: string | symbol) => {
    const started = fixture()
    if (started === undefined) throw new Error('the fixture is used outside of a test')
    return Reflect.get(started, name)
  }
  return new Proxy({} as Fixture, { get })
}
