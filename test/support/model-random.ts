/** Seeded choices: the same seed gives the same requests in the same order. */
export interface Random {
  readonly seed: number
  chance(share: number): boolean
  pick<Thing>(things: readonly [Thing, ...Thing[]]): Thing
  /** undefined if the list is empty. */
  pickOne<Thing>(things: readonly Thing[]): Thing | undefined
}

/** Mulberry32, a small seeded generator. */
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
