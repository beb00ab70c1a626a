import { expect, test } from '@jest/globals'
import { countedAddress } from '../../src/http/counted-address.ts'

test.each([
  ['203.0.113.5', '203.0.113.5'],
  ['::ffff:203.0.113.5', '203.0.113.5'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8:1:2::', '2001:db8:1:2::/64'],
  ['2001:db8:1:3::', '2001:db8:1:3::/64'],
  ['::1', '::/64'],
  ['no address', 'no address'],
])('%s counts as %s', (address, counted) => {
  expect(countedAddress(address)).toBe(counted)
})
