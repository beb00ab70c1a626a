/** Choices made by a seed: the same seed asks for the same things in the same order. */
export interface Random {
  readonly seed: number
  chance(share: number): boolean
  pick<Thing>(things: readonly [Thing, ...Thing[]]): Thing
  /** undefined when there is nothing to pick from. */
  pickOne<Thing>(things: readonly Thing[]): Thing | undefined
}

/** Mulberry32: 32 bits of state are plenty for choices in a test. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const pickOne = <Thing>(things: readonly Thing[]) => things[Math.floor(next() * things.length)]
  return {
    seed,
    chance: (share) => next() < share,
    pick: (things) => pickOne(things) ?? things[0],
    pickOne,
  }
}
