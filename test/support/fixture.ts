import { afterAll, beforeAll, beforeEach } from '@jest/globals'

export interface FixtureOptions<Fixture> {
  readonly start: () => Promise<Fixture>
  /** Runs before each test. */
  readonly reset?: (fixture: Fixture) => void
  readonly stop: (fixture: Fixture) => Promise<void>
}

/** One fixture for all tests of a file: started before the first test and stopped after the last. */
export function useFixture<Fixture extends object>({ start, reset, stop }: FixtureOptions<Fixture>): Fixture {
  let started: Fixture | undefined
  const fixture = () => {
    if (started === undefined) throw new Error('the fixture is used outside of a test')
    return started
  }
  beforeAll(async () => {
    started = await start()
  })
  beforeEach(() => reset?.(fixture()))
  afterAll(async () => {
    if (started !== undefined) await stop(started)
  })
  return new Proxy({} as Fixture, { get: (_, name) => Reflect.get(fixture(), name) })
}
