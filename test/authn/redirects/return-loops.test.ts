import { expect, test } from '@jest/globals'
import { countReturn, type ReturnKind } from '../../../src/authn/redirects/return-loops.ts'

const NOW = 1_800_000_000_000
const before = (times: number, agoMs = 1000) => ({ times, lastMs: NOW - agoMs })

test.each([
  ['the first', undefined, 'hand_over', 1],
  ['the second in a row', before(1), 'hand_over', 2],
  ['the third in a row', before(2), 'hand_over', undefined],
  ['one that is 20 seconds later', before(2, 20_000), 'hand_over', 1],
  ['one that is almost 20 seconds later', before(2, 19_999), 'hand_over', undefined],
  ['one before the last, at a replica with another clock', before(2, -1), 'hand_over', 1],
  ['the fifth click on a link', before(4), 'other_host', 5],
  ['a loop without a hand-over', before(5), 'other_host', undefined],
  ['a loop on the portal’s host', before(5), 'portal', undefined],
] as const satisfies readonly (readonly [string, object | undefined, ReturnKind, number | undefined])[])(
  '%s',
  (_, last, kind, times) => {
    const counted = countReturn(last, kind, NOW)
    expect(counted).toEqual(times === undefined ? undefined : { times, lastMs: NOW })
  },
)
